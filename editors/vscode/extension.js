// Starts irtool's language server for Relay text.
const { workspace, window } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const settings = workspace.getConfiguration("relay.server");
  if (!settings.get("enabled")) return;
  const [command, ...args] = settings.get("command");
  client = new LanguageClient(
    "relay",
    "Relay",
    { command, args },
    { documentSelector: [{ language: "relay" }] }
  );
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(
      `Relay: ${command} does not start (${error.message}). Install irtool, and the package pygls, or set relay.server.command.`
    );
  }
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };

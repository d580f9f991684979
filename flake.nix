{
  description = "irtool: opt and llc for Relay, from Relay, ONNX and TensorFlow Lite to portable C";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-24.11";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: rec {
        irtool = pkgs.python3Packages.buildPythonApplication {
          pname = "irtool";
          version = "0.1.0";
          pyproject = true;
          src = self;
          build-system = [ pkgs.python3Packages.setuptools ];
          dependencies = with pkgs.python3Packages; [ lark click numpy rich ];
          # Programs that irtool compiles need a compiler where it runs.
          makeWrapperArgs = [ "--prefix PATH : ${pkgs.lib.makeBinPath [ pkgs.stdenv.cc ]}" ];
          pythonImportsCheck = [ "irtool" ];
        };
        default = irtool;
      });
      devShells = each (pkgs: {
        default = pkgs.mkShell { packages = [ pkgs.python3 pkgs.gcc pkgs.clang pkgs.gnumake ]; };
      });
    };
}

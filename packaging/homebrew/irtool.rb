# brew install --build-from-source packaging/homebrew/irtool.rb
class Irtool < Formula
  include Language::Python::Virtualenv

  desc "Compiler of Relay, ONNX and TensorFlow Lite models to portable C"
  homepage "https://pypi.org/project/irtool/"
  url "https://files.pythonhosted.org/packages/source/i/irtool/irtool-0.1.0.tar.gz"
  # Of the archive that a release uploads (docs/releasing.md).
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "numpy"
  depends_on "python@3.13"

  def install
    virtualenv_create(libexec, "python3.13", system_site_packages: true)
    system libexec/"bin/python", "-m", "pip", "install", buildpath
    bin.install_symlink libexec/"bin/irtool"
  end

  test do
    (testpath/"net.relay").write <<~RELAY
      #[version = "0.0.5"]
      def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }
    RELAY
    assert_match "agree", shell_output("#{bin}/irtool run --compare interp,c net.relay")
  end
end

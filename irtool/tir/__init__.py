from ..namespace import submodules

__getattr__ = submodules(__name__)

"""`tvm.contrib`: the graph executor.

graph_executor  a build behind the interface of TVM's graph executor
"""

from ....namespace import submodules

__getattr__ = submodules(__name__)

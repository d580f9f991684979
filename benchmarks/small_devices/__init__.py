"""The networks of MLPerf Tiny on emulated boards, beside the kernels of CMSIS-NN."""

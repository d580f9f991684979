"""Parts of passes.

base, registry, names, config_option   a pass, its name and its options
context, runner, run, sequential       how passes run
pipeline, pipelines, resolve           sequences of passes, as text and by name
absent, tvm_options                    passes of TVM that irtool does not have; options without effect
constants, bind, externalize           constants of modules, and parameters bound to them
let_binding, let_inlining, beta_reduction, instantiation, kernel_calls, …   rewrites that several passes share
"""

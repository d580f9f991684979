"""Evidence for C of `--profile=certifiable`: findings of MISRA C:2012, and alarms of Frama-C."""

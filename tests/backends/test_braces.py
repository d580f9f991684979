"""Braces around everything that is in another pair say nothing."""

from irtool.backends.c.braces import without_needless_braces

BEFORE = """void f(void) {
  for (;;) {
    {
      {
        int x;
#if A
        x = 1;
#endif
        if (x) {
          {
            x = 2;
          }
        } else {
          {
            x = 3;
          }
          x = 4;
        }
      }
    }
  }
  {
    int y;
  }
  {
    int y;
  }
}
"""

AFTER = """void f(void) {
  for (;;) {
    int x;
#if A
    x = 1;
#endif
    if (x) {
      x = 2;
    } else {
      {
        x = 3;
      }
      x = 4;
    }
  }
  {
    int y;
  }
  {
    int y;
  }
}
"""


def test_only_those_that_say_nothing_go() -> None:
    assert without_needless_braces(BEFORE) == AFTER
    assert without_needless_braces(AFTER) == AFTER

"""Parts of the suite, selected by rules that follow its layout: what concerns one operator, or one test per family."""

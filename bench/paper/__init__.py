"""``hmas bench paper``: the paper's tables and figures, its numbers beside ours."""

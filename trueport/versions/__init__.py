"""What differs between the versions of Python, NumPy, onnx and the frameworks, and nothing else.

Every comparison with a version stands here; the other rooms call a function that says what they need. Where one can ask
for the thing itself (an attribute, a parameter), that is asked, not the version.
"""

"""Answer requests in SageMaker's PyTorch image: code/inference.py of a model's archive.

The image calls model_fn once, and transform_fn for each request; serve_nn.py is beside this file.
"""

import importlib
from typing import Any

serve_nn: Any = importlib.import_module("serve_nn")
model_fn = serve_nn.model_fn


def transform_fn(model: Any, body: Any, content_type: str, accept: str, context: Any) -> Any:
    """Return the body of the answer, and its type.

    A request that is refused is answered with the reason and with a status below 500: an exception
    would be the image's own, and its status 500.
    """
    try:
        instances = serve_nn.input_fn(body, content_type)
        return serve_nn.output_fn(serve_nn.predict_fn(instances, model), accept)
    except serve_nn.BadRequest as problem:
        text, status = serve_nn.error_of(problem)
        context.set_response_status(status, "refused")
        return text, serve_nn.JSON

"""The PyTorch script that is not the lesson's: the same text on the pages of both clouds."""

from __future__ import annotations

from tools.pages.folder import ROOT, read_page
from tools.pages.scanner import Code

PAGES = ("05-vertex-gpu-replicas", "08-sagemaker-gpu-instances")
FIRST = "%%writefile runs/ddp/ddp.py\n"


def script_of(page: str) -> str:
    """The script that a page writes; it does so once."""
    blocks = [block for block, _ in read_page(ROOT / f"episodes/{page}.md").walk()]
    (script,) = [
        block.text for block in blocks if isinstance(block, Code) and block.text.startswith(FIRST)
    ]
    return script


def test_both_pages_send_the_same_script_which_knows_neither_cloud() -> None:
    google, amazon = map(script_of, PAGES)
    assert google == amazon
    for name in ("CLUSTER_SPEC", "AIP_", "/gcs", "gs://", "SM_", "/opt/ml", "s3://"):
        assert name not in google

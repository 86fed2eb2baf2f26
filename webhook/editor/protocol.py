"""The protocol as pygls has it, with an answer to a request that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path


class AnsweringProtocol(LanguageServerProtocol):
    """Answers a request whose parameters are not those of its method with an error; pygls only notes it."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message. Raises JsonRpcException where it is none, or its parameters are wrong."""
        try:
            return super().structure_message(data)
        except JsonRpcException:
            if "id" in data and "method" in data:
                error = JsonRpcInvalidParams(f"the parameters of {data['method']} cannot be read")
                self._send_response(data["id"], None, error.to_response_error())
            raise


def path_of(uri: str) -> Path:
    """Return the file that an editor names, without links."""
    return Path(to_fs_path(uri) or uri).resolve()

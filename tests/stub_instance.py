# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A process that streams words as an engine does, and can be stopped or killed: `python stub_instance.py PORT NAME`.

It sends the head of a stream at once, as vLLM does, and its first word a moment later.
"""

from __future__ import annotations

import asyncio
import json
import sys

FIRST_S, NEXT_S, WORDS = 0.4, 0.02, 5


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(lengths[0].split(b":")[1])) if lengths else b""
            asked = json.loads(body or b"{}")
            writer.write(f"HTTP/1.1 200 OK\r\nX-Instance: {name}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            await writer.drain()
            await asyncio.sleep(FIRST_S)
            for number in range(min(WORDS, int(asked.get("max_tokens", WORDS)))):
                event = f'data: {{"choices": [{{"text": "{number}"}}]}}\n\n'.encode()
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                await writer.drain()
                await asyncio.sleep(NEXT_S)
            writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _serve(port: int, name: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _answer(reader, writer, name)

    async with await asyncio.start_server(answer, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2]))

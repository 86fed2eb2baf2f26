"""An event loop in a thread of its own: a browser's driver keeps the test's thread."""

import asyncio
import threading
from contextlib import contextmanager


class Aside:
    """What an asynchronous context manager gave, and its loop; `do` runs a coroutine there."""

    def __init__(self):
        self.loop, self.given = asyncio.new_event_loop(), None

    def do(self, work):
        """Run a coroutine to its end."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


@contextmanager
def aside(manager):
    """Enter a context manager in another thread, and leave it there."""
    made, ready, end = Aside(), threading.Event(), asyncio.Event()
    failed = []

    async def live():
        async with manager as made.given:
            ready.set()
            await end.wait()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def run():
        try:
            made.loop.run_until_complete(live())
        except BaseException as error:  # the test's thread raises it
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        if not failed:
            yield made
    finally:
        if not failed:
            made.loop.call_soon_threadsafe(end.set)
        thread.join()
        made.loop.close()
    if failed:
        raise failed[0]

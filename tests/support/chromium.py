"""A page in the system's Chromium, used as a person uses it: by keys, a mouse and eyes.

Chromium's DevTools protocol is spoken over two pipes: no port is open, and no library is needed.
"""

import base64
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.processes import die_with_parent, open_folder

PATIENCE_S: Final = 90.0
_POLL_S: Final = 0.05
_FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--lang=en",
    # No request of a page leaves this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
# Chromium reads requests from descriptor 3 and answers on 4.
_WITH_PIPES: Final = 'exec chromium "$@" 3<&0 4>&1 </dev/null >&2'
_KEYS: Final[Mapping[str, tuple[str, int, str]]] = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Space": (" ", 32, " "),
    "End": ("End", 35, ""),
    "Home": ("Home", 36, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
}
_SHIFT: Final = 8
_NAMED_ROLES: Final = (
    *("button", "link", "searchbox", "textbox", "combobox", "radio", "DisclosureTriangle"),
    *("dialog", "navigation", "region", "image"),
)


class Chromium:
    """One browser with one page."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "chromium.log"
        command = ["sh", "-c", _WITH_PIPES, "chromium", *_FLAGS, f"--user-data-dir={folder}"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "about:blank"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "HOME": str(folder)},
                process_group=0,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._received = b""
        self._calls = 0
        self._session: str | None = None
        self.requests: list[str] = []
        """The addresses of all requests of the page."""
        self.errors: list[str] = []
        """The errors in the page's console."""
        self._trace: list[dict[str, Any]] = []
        self._is_traced = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends one command of the protocol and returns its result; notes events that arrive
        meanwhile.
        """
        self._calls += 1
        message: dict[str, Any] = {"id": self._calls, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._calls:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def look(self, light: bool = True, width: int = 1280, height: int = 900) -> None:
        """Sets the size of the screen, and the user's preference of light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        scheme = {"name": "prefers-color-scheme", "value": "light" if light else "dark"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def ask(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str) -> Any:
        """Waits until the value of an expression counts as true; returns the value."""
        deadline = time.monotonic() + PATIENCE_S
        # An element can't be returned as a value.
        value = f"const value = {script}; return value instanceof Node || value"
        guarded = f"(() => {{ try {{ {value} }} catch {{ return null }} }})()"
        while not (outcome := self.ask(guarded)):
            assert time.monotonic() < deadline, f"{script}\n{self.text('body')}\n{self.errors}"
            time.sleep(_POLL_S)
        return outcome

    def until_text(self, selector: str, text: str) -> None:
        """Waits until an element shows this text."""
        self.until(f"document.querySelector({selector!r}).innerText.includes({text!r})")

    def text(self, selector: str) -> str:
        found: str = self.ask(f"document.querySelector({selector!r})?.innerText ?? ''")
        return found

    def click(self, selector: str) -> None:
        """Clicks the middle of an element with the mouse, once the element stands still."""
        x, y = self._middle(selector)
        while (middle := self._middle(selector)) != [x, y]:
            x, y = middle
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def _middle(self, selector: str) -> list[float]:
        """Where the middle of an element is shown, a frame from now."""
        self.ask("new Promise((shown) => requestAnimationFrame(shown))")
        middle: list[float] = self.until(
            f"(() => {{ const node = document.querySelector({selector!r});"
            " node.scrollIntoView({block: 'center'}); const box = node.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        return middle

    def press(self, key: str, *, shift: bool = False) -> None:
        name, code, text = _KEYS[key]
        both = {"key": name, "code": key, "windowsVirtualKeyCode": code}
        both["modifiers"] = _SHIFT if shift else 0
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **both, **down)
        self.call("Input.dispatchKeyEvent", **both, type="keyUp")

    def type(self, text: str) -> None:
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="char", text=letter)

    def screenshot(self, path: Path) -> None:
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def nameless(self) -> list[str]:
        """The roles of what a screen reader would offer without a name."""
        self.call("Accessibility.enable")
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        self.call("Accessibility.disable")
        return [
            node["role"]["value"]
            for node in nodes
            if not node["ignored"]
            and node["role"]["value"] in _NAMED_ROLES
            and not node.get("name", {}).get("value", "").strip()
        ]

    def end_trace(self) -> list[dict[str, Any]]:
        """Ends a trace that was started; returns its events."""
        self.call("Tracing.end")
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_traced:
            self._note(self._receive(deadline))
        events, self._trace, self._is_traced = self._trace, [], False
        return events

    def end(self) -> None:
        self._to.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._from.close()

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._from], [], [], max(0, deadline - time.monotonic()))
            block = os.read(self._from.fileno(), 1 << 20) if ready else b""
            assert block, f"Chromium is silent:\n{self._log.read_text()[-2000:]}"
            self._received += block
        message, _, self._received = self._received.partition(b"\0")
        message_fields: dict[str, Any] = json.loads(message)
        return message_fields

    def _note(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(about["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(about["exceptionDetails"])[:2000])
            case "Runtime.consoleAPICalled" if about["type"] in ("error", "warning"):
                self.errors.append(json.dumps(about["args"])[:2000])
            case "Tracing.dataCollected":
                self._trace += about["value"]
            case "Tracing.tracingComplete":
                self._is_traced = True
            case "Log.entryAdded" if about["entry"]["level"] in ("error", "warning"):
                entry = about["entry"]
                self.errors.append(f"{entry['text']} {entry.get('url', '')}")


@contextmanager
def chromium() -> Iterator[Chromium]:
    """Runs a browser with a profile of its own."""
    with open_folder() as folder:
        browser = Chromium(folder)
        try:
            yield browser
        finally:
            browser.end()

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A headless Chromium for shell tests, by its DevTools protocol over a pipe.

    browser.py SOCKET serve CHROMIUM [OPTION]...    runs it until SIGTERM; listens at SOCKET
    browser.py SOCKET COMMAND [ARGUMENT]...         asks it; what it says is printed

    open URL            a page, from a clean record          eval EXPRESSION     its value as JSON; promises are awaited,
                                                             $(SELECTOR) and $$(SELECTOR) are there
    key KEY...          presses keys, as KeyboardEvent.key   click SELECTOR      in the middle of an element
    move X Y            the mouse, CSS pixels                size WIDTH HEIGHT [SCALE]
    dark | light        what the system prefers              still | lively      prefers-reduced-motion
    shot FILE           what is seen, as PNG                 all FILE            the page in its whole height
    console             what reached it since `open`         requests            the addresses asked for since `open`
"""
import base64
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

LIMIT_S = 30


class Chromium:
    """One tab of one browser. Commands go in by descriptor 3, answers and events come by 4, each ended by a zero byte."""

    def __init__(self, binary, options):
        self.home = tempfile.TemporaryDirectory()
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        def descriptors():
            os.dup2(theirs_in, 63)  # out of the way first: 3 or 4 may be the other's
            os.dup2(theirs_out, 64)
            os.dup2(63, 3)
            os.dup2(64, 4)

        self.process = subprocess.Popen(
            [binary, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
             "--user-data-dir=" + self.home.name, *options, "about:blank"],
            env={**os.environ, "HOME": self.home.name}, preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.inward, self.outward = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb", buffering=0)
        self.answers, self.arrived = {}, threading.Condition()
        self.number, self.session, self.console, self.requests, self.loaded = 0, None, [], [], False
        threading.Thread(target=self.listen, daemon=True).start()
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")
        self.media = {"prefers-color-scheme": "light", "prefers-reduced-motion": "no-preference"}

    def listen(self):
        rest = b""
        while part := self.inward.read1(1 << 16):
            *whole, rest = (rest + part).split(b"\0")
            with self.arrived:
                for text in whole:
                    self.take(json.loads(text))
                self.arrived.notify_all()

    def take(self, message):
        event, about = message.get("method"), message.get("params", {})
        if "id" in message:
            self.answers[message["id"]] = message
        elif event == "Page.loadEventFired":
            self.loaded = True
        elif event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Runtime.consoleAPICalled":
            self.console.append(about["type"] + ": " + " ".join(str(a.get("value", a.get("description"))) for a in about["args"]))
        elif event == "Runtime.exceptionThrown":
            thrown = about["exceptionDetails"]
            self.console.append("exception: " + thrown.get("exception", {}).get("description", thrown["text"]))
        elif event == "Log.entryAdded":
            self.console.append(about["entry"]["level"] + ": " + about["entry"]["text"] + " " + about["entry"].get("url", ""))

    def wait(self, done, what):
        with self.arrived:
            if not self.arrived.wait_for(done, LIMIT_S):
                raise TimeoutError(what)

    def call(self, method, **params):
        self.number += 1
        number, message = self.number, {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.outward.write(json.dumps(message).encode() + b"\0")
        self.wait(lambda: number in self.answers, method)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise ValueError(method + ": " + answer["error"]["message"])
        return answer["result"]

    # --- what can be asked for

    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.console, self.requests, self.loaded = [], [], False
        said = self.call("Page.navigate", url=url)
        if "errorText" in said:
            raise ValueError(said["errorText"])
        self.wait(lambda: self.loaded, "loading " + url)

    def eval(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, includeCommandLineAPI=True)
        if "exceptionDetails" in got:
            raise ValueError(got["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return json.dumps(got["result"].get("value"), ensure_ascii=False)

    def key(self, *keys):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}
        for key in keys:
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            about = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
            self.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=float(x), y=float(y))

    def click(self, selector):
        where = json.loads(self.eval("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'center'}); const r = "
                                     "e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()" % json.dumps(selector)))
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=int(width), height=int(height), deviceScaleFactor=float(scale), mobile=False)

    def prefer(self, feature, value):
        self.media[feature] = value
        self.call("Emulation.setEmulatedMedia", features=[{"name": n, "value": v} for n, v in self.media.items()])

    def shot(self, path, whole=False):
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}, "captureBeyondViewport": True}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"]))

    def obey(self, word, *arguments):
        simple = {"dark": ("prefers-color-scheme", "dark"), "light": ("prefers-color-scheme", "light"),
                  "still": ("prefers-reduced-motion", "reduce"), "lively": ("prefers-reduced-motion", "no-preference")}
        if word in simple:
            return self.prefer(*simple[word])
        if word in ("console", "requests"):
            return "\n".join(getattr(self, word))
        if word == "all":
            return self.shot(*arguments, whole=True)
        if word in ("open", "eval", "key", "move", "click", "size", "shot"):
            return getattr(self, word)(*arguments)
        raise ValueError("no such command: " + word)


def serve(path, binary, *options):
    browser = Chromium(binary, options)

    def stop(*_):
        browser.process.terminate()
        browser.process.wait()
        browser.home.cleanup()
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            with listener.accept()[0] as client, client.makefile("rw", encoding="utf-8") as lines:
                try:
                    answer = {"said": browser.obey(*json.loads(lines.readline()))}
                except (ValueError, TypeError, TimeoutError, OSError) as why:
                    answer = {"error": str(why)}
                lines.write(json.dumps(answer) + "\n")


def ask(path, *words):
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        with server.makefile("rw", encoding="utf-8") as lines:
            lines.write(json.dumps(words) + "\n")
            lines.flush()
            answer = json.loads(lines.readline())
    if "error" in answer:
        sys.exit("browser.py: " + answer["error"])
    if answer["said"]:
        print(answer["said"])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[2] == "serve":
        serve(sys.argv[1], *sys.argv[3:])
    else:
        ask(sys.argv[1], *sys.argv[2:])

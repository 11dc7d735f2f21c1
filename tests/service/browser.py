# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium with one page, driven by its debugging protocol over a pipe.

Messages are JSON with a NUL behind each: commands go to descriptor 3 of the browser, answers and
events come from its descriptor 4.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

PATIENCE_S = 60


def find():
    """The program, or None."""
    for name in 'chromium', 'chromium-browser', 'google-chrome':
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    def __init__(self, program, log):
        self.home = tempfile.mkdtemp(prefix='redlock-browser-')
        commands, self.to = os.pipe()
        self.of, answers = os.pipe()
        words = [program, '--headless=new', '--remote-debugging-pipe', '--user-data-dir=' + self.home,
                 '--no-first-run', '--no-default-browser-check', '--disable-gpu', '--disable-dev-shm-usage',
                 '--disable-extensions', '--disable-background-networking', '--disable-component-update',
                 '--disable-sync', '--disable-default-apps', '--mute-audio', '--hide-scrollbars',
                 '--font-render-hinting=none', '--lang=en-US', 'about:blank']
        if os.geteuid() == 0:
            words.insert(1, '--no-sandbox')

        # Descriptors 3 and 4 may be among the four of the pipes: to the side first.
        def place():
            first, second = os.dup(commands), os.dup(answers)
            high = [os.dup2(first, 60), os.dup2(second, 61)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
        self.process = subprocess.Popen(words, close_fds=False, preexec_fn=place, stdin=subprocess.DEVNULL,
                                        stdout=log, stderr=log, env={**os.environ, 'HOME': self.home})
        os.close(commands)
        os.close(answers)
        self.count = 0
        self.answers = {}
        self.events = []
        self.news = threading.Condition()
        self.is_over = False
        threading.Thread(target=self._read, daemon=True).start()
        target = self.send('Target.createTarget', {'url': 'about:blank'}, None)['targetId']
        self.session = self.send('Target.attachToTarget', {'targetId': target, 'flatten': True}, None)['sessionId']
        for domain in 'Page', 'Runtime', 'Network', 'Log':
            self.send(domain + '.enable')

    def _read(self):
        rest = b''
        while True:
            part = os.read(self.of, 1 << 16)
            *messages, rest = (rest + part).split(b'\0')
            with self.news:
                for message in map(json.loads, messages):
                    if 'id' in message:
                        self.answers[message['id']] = message
                    else:
                        self.events.append(message)
                self.is_over = not part
                self.news.notify_all()
            if not part:
                return

    def send(self, method, params=None, session=''):
        """The result; session: None for the browser itself."""
        with self.news:
            self.count += 1
            number = self.count
        message = {'id': number, 'method': method, 'params': params or {}}
        if session is not None:
            message['sessionId'] = session or self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.to, data):]
        with self.news:
            if not self.news.wait_for(lambda: number in self.answers or self.is_over, PATIENCE_S):
                raise TimeoutError(method)
            answer = self.answers.pop(number, {'error': 'the browser is gone'})
        if 'error' in answer:
            raise RuntimeError(f'{method}: {answer["error"]}')
        return answer['result']

    def seen(self, method):
        """The parameters of all events of this name so far."""
        with self.news:
            return [event['params'] for event in self.events if event['method'] == method]

    def evaluate(self, expression, promise=False):
        result = self.send('Runtime.evaluate', {'expression': expression, 'returnByValue': True,
                                                'awaitPromise': promise})
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{expression}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def when(self, condition, seconds=PATIENCE_S // 2):
        """The time of day in ms at which the page first was so; None: not within that time."""
        return self.evaluate('''new Promise(done => {
            const look = () => {
                let is = false;
                try { is = (%s); } catch (error) { }
                if (!is) return;
                watcher.disconnect(); clearTimeout(timer); clearInterval(also); done(Date.now());
            };
            const watcher = new MutationObserver(look);
            const timer = setTimeout(() => { watcher.disconnect(); clearInterval(also); done(null); }, %d);
            const also = setInterval(look, 100);
            watcher.observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
            look();
        })''' % (condition, seconds * 1000), promise=True)

    def open(self, address):
        self.send('Page.navigate', {'url': address})
        return self.when('location.href != "about:blank" && document.readyState == "complete"')

    def key(self, name, code, text=None):
        for kind in 'keyDown', 'keyUp':
            event = {'type': kind, 'key': name, 'code': name, 'windowsVirtualKeyCode': code}
            if text and kind == 'keyDown':
                event['text'] = text
            self.send('Input.dispatchKeyEvent', event)

    def type(self, text):
        self.send('Input.insertText', {'text': text})

    def look(self, width, height, dark=False):
        """The size of the window, and the colours that the user prefers."""
        self.send('Emulation.setDeviceMetricsOverride', {'width': width, 'height': height,
                                                         'deviceScaleFactor': 1, 'mobile': width < 500})
        self.send('Emulation.setEmulatedMedia', {'features': [
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}]})

    def picture(self, path):
        """All of the page, however long."""
        size = self.send('Page.getLayoutMetrics')['cssContentSize']
        data = self.send('Page.captureScreenshot', {
            'format': 'png', 'captureBeyondViewport': True,
            'clip': {'x': 0, 'y': 0, 'width': size['width'], 'height': size['height'], 'scale': 1}})['data']
        with open(path, 'wb') as out:
            out.write(base64.b64decode(data))

    def close(self):
        try:
            self.send('Browser.close', None, None)
        except (RuntimeError, TimeoutError, OSError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # Its helpers write into their folder for a moment longer.
        for _ in range(50):
            shutil.rmtree(self.home, ignore_errors=True)
            if not os.path.exists(self.home):
                break
            time.sleep(0.1)

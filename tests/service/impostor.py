# SPDX-License-Identifier: BSD-2-Clause
"""impostor.py FILE: another program, which answers each request with success; its port goes into FILE."""
import http.server
import sys


class Other(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"hello":"world"}')

    do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *words):
        pass


server = http.server.HTTPServer(('127.0.0.1', 0), Other)
with open(sys.argv[1], 'w') as out:
    print(server.server_port, file=out)
server.serve_forever()

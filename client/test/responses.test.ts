// Failures without a response, in words: by the codes of Node and OpenSSL, not in their sentences.
import { expect, test } from 'vitest';
import { withoutResponse } from '../src/responses.ts';

const request = {
  method: 'GET',
  url: 'https://api.example/v0',
  headers: {},
  body: undefined,
  timeoutSeconds: 10,
  signal: undefined,
};
const failed = (code: string, message: string) =>
  withoutResponse(request, false, new TypeError('failed', { cause: { code, message } }));

test.each([
  ['CERT_HAS_EXPIRED', 'certificate has expired', /certificate of the service has expired/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate', /is self-signed/],
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND api.example', /the name of the service has no address/],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'unable to verify',
    /authority unknown here.*NODE_EXTRA_CA_CERTS.*without the intermediate/,
  ],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'self-signed', /authority unknown here.*NODE_EXTRA_CA_CERTS/],
  ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:9', /the connection was refused/],
  ['UND_ERR_SOCKET', 'other side closed', /was closed without an answer/],
  ['EPROTO', '0A00010B:SSL routines:ssl3_get_record:wrong version number', /no TLS was agreed on/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'error:0A00010B:SSL routines', /no TLS was agreed on/],
])('%s gets a sentence, and its code stays for programs', (code, message, sentence) => {
  const failure = failed(code, message);
  expect(failure.message).toMatch(sentence);
  expect(failure.message).toContain(`(${code})`);
  expect(failure.message).not.toMatch(/SSL routines|error:|0A00/);
  expect(failure.networkCode).toBe(code);
});

test('another failure keeps its message', () => {
  expect(failed('EMFILE', 'too many open files').message).toBe(
    'GET https://api.example/v0: too many open files',
  );
});

test('the answer of a proxy that the program uses is in the message', () => {
  const cause = new Error('Proxy response (407) !== 200 when HTTP Tunneling');
  const error = new TypeError('failed', { cause: new Error('Request was cancelled.', { cause }) });
  expect(withoutResponse(request, false, error).message).toBe(
    'GET https://api.example/v0: the HTTP proxy that this program uses answered 407',
  );
});

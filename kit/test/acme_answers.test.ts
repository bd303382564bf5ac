// The answers to a certificate authority, and to all others that call the same port.
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { Answers } from '../src/acme/answers.ts';

test('a client that offers acme-tls/1 is turned away, whatever server it names, or none', () => {
  const answers = new Answers(undefined, () => 1_800_000_000);
  for (const servername of ['other.example', '', undefined, null, false]) {
    const offer = { servername, protocols: ['http/1.1', 'acme-tls/1'] };
    expect(answers.chooseProtocol({} as TLSSocket, offer)).toBe(undefined);
  }
  const offer = { servername: undefined, protocols: ['h2', 'http/1.1'] };
  expect(answers.chooseProtocol({} as TLSSocket, offer)).toBe('http/1.1');
});

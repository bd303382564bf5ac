// The answers to a certificate authority, and to all others that call the same port.
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { freePorts } from '../../test/authority.ts';
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

test('silent connections, of one network or of many, do not keep an authority out', async () => {
  const [port = 0] = await freePorts(1);
  const answers = new Answers({ host: '127.0.0.1', port }, () => 1_800_000_000);
  const silent: Socket[] = [];
  const open = async (localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    silent.push(socket);
    await once(socket, 'connect');
  };
  const statusOfCheck = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const path = '/.well-known/acme-challenge/token';
      get({ port, host: '127.0.0.1', localAddress: '127.0.1.1', path, agent: false }, (response) =>
        resolve(response.resume().statusCode),
      ).on('error', reject);
    });
  const challenge = { type: 'http-01', name: 'a.example', token: 'token', key_authorization: 'x' };
  await answers.during(challenge as Parameters<Answers['during']>[0], async () => {
    for (let n = 0; n < 70; n += 1) await open('127.0.0.2');
    expect(await statusOfCheck()).toBe(200);
    for (let n = 0; n < 70; n += 1) await open(`127.0.2.${n + 1}`);
    expect(await statusOfCheck()).toBe(200);
  });
  for (const socket of silent) socket.destroy();
});

// RADIUS and EAP-MSCHAPv2 with the examples of the RFCs, and with invalid packets.
import { createSocket } from 'node:dgram';
import fc from 'fast-check';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { readEap } from '../src/vpn/eap.ts';
import { md4 } from '../src/vpn/md4.ts';
import { proveChap } from '../src/vpn/mschap.ts';
import { readRequest, writeResponse } from '../src/vpn/radius_packet.ts';
import { RadiusServer, radiusAddress } from '../src/vpn/radius_server.ts';
import { decode, encode } from '../src/vpn/vici.ts';
import { type Attribute, requestOf } from './radius_client.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

test.each([
  ['', '31d6cfe0d16ae931b73c59d7e0c089c0'],
  ['abc', 'a448017aaf21d8525fc10ae87aa6729d'],
  ['message digest', 'd9130a8164549fe818874806e1c7014b'],
  ['1234567890'.repeat(8), 'e33b4ddc9c38f2199c3e7b164fcc0536'],
])('MD4 of %j is that of RFC 1320', (text, digest) => {
  expect(md4(Buffer.from(text)).toString('hex')).toBe(digest);
});

test('MS-CHAPv2 answers as RFC 2759 (9.2), and makes the keys of RFC 3079 (3.5.3)', () => {
  const response = {
    challenge: hex('5B 5D 7C 7D 7B 3F 2F 3E 3C 2C 60 21 32 26 26 28'),
    peer_challenge: hex('21 40 23 24 25 5E 26 2A 28 29 5F 2B 3A 33 7C 7E'),
    nt_response: hex('82 30 9E CD 8D 70 8B 5E A0 8F AA 39 81 CD 83 54 42 33 11 4A 3D 85 D6 DF'),
    name: 'User',
  };
  const proof = proveChap(response, 'clientPass');
  expect(proof?.authenticator).toBe('S=407A5589115FD0D6209F510FE9C04566932CDA56');
  expect(proof?.send_key).toEqual(hex('8B 7C DC 14 9B 99 3A 1B A1 18 CB 15 3F 56 DC CB'));
  expect(proveChap({ ...response, name: 'DOMAIN\\User' }, 'clientPass')).toEqual(proof);
  expect(proveChap(response, 'clientpass')).toBeUndefined();
});

describe('a server', () => {
  const secret = 'of-both';
  const evaluate = async () => ({ allowed: false as const, message: 'no (bad_token)' });
  const server = new RadiusServer({
    ...{ secret, dns: ['9.9.9.9'], evaluate, clock: systemClock },
    log: pino({ level: 'silent' }),
  });
  let port = 0;
  beforeAll(async () => {
    port = await server.listen(0);
  });
  afterAll(() => server.close());

  test('no packet makes it fail, or respond to a sender without the secret', async () => {
    const socket = createSocket('udp4');
    let answers = 0;
    socket.on('message', () => {
      answers += 1;
    });
    const send = (bytes: Uint8Array) =>
      new Promise((resolve) => socket.send(bytes, port, radiusAddress, resolve));
    const whole = fc.uint8Array({ maxLength: 200 });
    const likely = fc
      .tuple(fc.constantFrom(1, 2, 4, 12), fc.nat(255), fc.uint8Array({ maxLength: 120 }))
      .map(([code, identifier, body]) => {
        const head = Buffer.from([code, identifier, 0, 0, ...Buffer.alloc(16, 5)]);
        head.writeUInt16BE(20 + body.length, 2);
        return Buffer.concat([head, body]);
      });
    for (const packet of fc.sample(fc.oneof(whole, likely), 10_000)) {
      expect(readRequest(Buffer.from(packet), secret)).toBeUndefined();
      await send(packet);
    }
    // From a sender with the secret, with any EAP inside.
    for (const eap of fc.sample(fc.uint8Array({ minLength: 1, maxLength: 250 }), 10_000)) {
      readEap(Buffer.from(eap));
      if ((eap[0] ?? 0) < 8) await send(signed([[79, Buffer.from(eap)]]));
    }
    expect((await stillAnswers()).length).toBeGreaterThan(0);
    expect(answers).toBeLessThan(1000);
    socket.close();
  });

  const stillAnswers = async () => {
    const socket = createSocket('udp4');
    const answers: Buffer[] = [];
    socket.on('message', (bytes) => answers.push(bytes));
    // Earlier packets may fill its buffer for a moment.
    while (answers.length === 0) {
      socket.send(signed([[79, Buffer.from([2, 1, 0, 6, 1, 97])]]), port, radiusAddress);
      await systemClock.sleep(0.1);
    }
    socket.close();
    return answers;
  };

  const signed = (attributes: Attribute[]) => requestOf(attributes, secret);

  test('a request that comes again gets the same response, and is decided once', async () => {
    const socket = createSocket('udp4');
    const answers: string[] = [];
    socket.on('message', (bytes) => answers.push(bytes.toString('hex')));
    const packet = signed([[79, Buffer.from([2, 1, 0, 6, 1, 97])]]);
    for (let count = 0; count < 3; count += 1) {
      await new Promise((resolve) => socket.send(packet, port, radiusAddress, resolve));
    }
    while (answers.length < 3) await systemClock.sleep(0.01);
    expect(new Set(answers).size).toBe(1);
    socket.close();
  });

  test('a response is signed for the request that it answers', () => {
    const request = readRequest(signed([]), secret);
    if (!request) throw new Error('it cannot be read');
    const response = writeResponse(request, 3, [], secret);
    expect(response.subarray(0, 4)).toEqual(Buffer.from([3, 9, 0, 38]));
  });
});

test('a message of VICI is the same after writing and reading, and a damaged one is refused', () => {
  const name = fc.string({ minLength: 1, maxLength: 20, unit: 'binary-ascii' });
  const text = fc.string({ maxLength: 60, unit: 'binary-ascii' });
  const { message } = fc.letrec((tie) => ({
    message: fc.dictionary(name, fc.oneof(text, fc.array(text, { maxLength: 4 }), tie('message')), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  }));
  fc.assert(
    fc.property(message, fc.nat(), (sent, cut) => {
      const bytes = encode(sent as Parameters<typeof encode>[0]);
      expect(decode(bytes)).toEqual(sent);
      try {
        decode(bytes.subarray(0, cut % (bytes.length + 1)));
      } catch (error) {
        expect((error as Error).message).toMatch(/charon|range/);
      }
    }),
  );
});

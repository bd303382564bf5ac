// The codec of IKE's first messages: the numbers of the RFCs, and other datagrams, which never
// count as a response.

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import type { IkeVersion } from '../src/engine.ts';
import {
  abandonment,
  firstMessage,
  notifications,
  readResponse,
  spiBytes,
} from '../src/vpn/ike.ts';

const spi = Buffer.from('0102030405060708', 'hex');
const of = (hex: string) => Buffer.from(hex.replaceAll(/\s/g, ''), 'hex');
const versions: IkeVersion[] = ['1', '2'];

/** Responses of charon 5.9.8, as it sent them. */
const responses = {
  /** INVALID_KE_PAYLOAD, which asks for group 19, and no SPI of charon's. */
  otherGroup: of(`0102030405060708 0000000000000000 29 20 22 20 00000000 00000026
    0000000a 00000011 0013`),
  /** NO_PROPOSAL_CHOSEN. */
  unknownExit: of(`0102030405060708 9296b5df5d79d0f5 29 20 22 20 00000000 00000024
    00000008 0000000e`),
  /** The SA of main mode, with two vendor IDs behind it. */
  mainMode: of(`0102030405060708 ee29f4f131c4919f 01 10 02 00 00000000 00000074
    0d000038 00000001 00000001 0000002c 01010001 00000024 01010000 80010007 800e0100 80020004
    80040013 80030001 800b0001 800c0e10
    0d00000c 09002689dfd6b712 00000014 afcad71368a1f1c96b8696fc77570100`),
  /** NO-PROPOSAL-CHOSEN in an informational exchange. */
  unknownExitV1: of(`0102030405060708 170fba01f9fe183d 0b 10 05 00 ead9bed2 00000028
    0000000c 00000001 0100000e`),
};

describe('the first message', () => {
  test('of IKEv2 is IKE_SA_INIT with one proposal, the key of its second group, and a nonce', () => {
    const message = firstMessage('2', spi);
    const header = `0102030405060708 0000000000000000 21 20 22 08 00000000 ${length(message)}`;
    expect(message.subarray(0, 28)).toEqual(of(header));
    // AES-GCM with 256 bits, PRF with SHA-256, ECP-256 or ECP-521.
    expect(message.subarray(28, 28 + 48)).toEqual(
      of(`22000030 0000002c 01010004 0300000c 01000014 800e0100 03000008 02000005
        03000008 04000013 00000008 04000015`),
    );
    expect(message.subarray(76, 84)).toEqual(of('2800008c 00150000'));
    expect(message.subarray(76 + 140, 76 + 144)).toEqual(of('00000024'));
    expect(message).toHaveLength(76 + 140 + 36);
  });

  test('of IKEv1 is main mode with one proposal', () => {
    expect(firstMessage('1', spi)).toEqual(
      of(`0102030405060708 0000000000000000 01 10 02 00 00000000 00000054
        00000038 00000001 00000001 0000002c 01010001 00000024 01010000 80010007 80020004
        80030001 80040013 800b0001 800c0e10 800e0100`),
    );
  });

  test('of IKEv1 is taken back by an informational exchange of its own number', () => {
    const responder = randomBytes(spiBytes);
    const message = abandonment(spi, responder);
    expect(message.subarray(0, 20)).toEqual(Buffer.concat([spi, responder, of('0b100500')]));
    expect(message.subarray(24)).toEqual(of('00000028 0000000c 00000001 0100000e'));
  });
});

const length = (message: Buffer) => message.length.toString(16).padStart(8, '0');

describe('a response', () => {
  test.each<[string, IkeVersion, Buffer, number | undefined]>([
    ['asks for another group', '2', responses.otherGroup, notifications.invalid_ke_payload],
    ['knows no such exit', '2', responses.unknownExit, notifications.no_proposal_chosen],
    ['goes on', '1', responses.mainMode, undefined],
    ['knows no such exit', '1', responses.unknownExitV1, notifications.no_proposal_chosen],
  ])('%s (IKEv%s)', (_, version, datagram, error) => {
    const responder = datagram.subarray(8, 16);
    expect(readResponse(version, spi, datagram)).toEqual({ spi: responder, error });
  });

  test('may ask for a cookie', () => {
    const datagram = of(`0102030405060708 0000000000000000 29 20 22 20 00000000 00000028
      0000000c 00004006 01020304`);
    expect(readResponse('2', spi, datagram)?.error).toBe(notifications.cookie);
  });

  test('that only announces something, such as fragments, is none', () => {
    const datagram = of(`0102030405060708 0000000000000000 29 20 22 20 00000000 00000024
      00000008 0000402e`);
    expect(readResponse('2', spi, datagram)).toBeUndefined();
  });

  test('that accepts names an SPI of its own', () => {
    const datagram = Buffer.from(responses.mainMode);
    datagram.fill(0, 8, 16);
    expect(readResponse('1', spi, datagram)).toBeUndefined();
  });

  test('to a request is none: what was sent does not count when it comes back', () => {
    for (const version of versions) {
      const echoed = firstMessage(version, spi);
      expect(readResponse(version, spi, echoed)).toBeUndefined();
    }
  });

  const cases = Object.values(responses).flatMap((datagram) =>
    versions.map((version) => ({ version, datagram })),
  );
  const isFit = ({ version, datagram }: (typeof cases)[number]) =>
    readResponse(version, spi, datagram) !== undefined;

  test('is of one version alone', () => {
    expect(cases.filter(isFit)).toHaveLength(Object.keys(responses).length);
  });

  test('to another SPI does not count', () => {
    const fit = cases.filter(isFit);
    fc.assert(
      fc.property(
        fc.constantFrom(...fit),
        fc.uint8Array({ minLength: spiBytes, maxLength: spiBytes }),
        ({ version, datagram }, bytes) => {
          fc.pre(!spi.equals(bytes));
          expect(readResponse(version, Buffer.from(bytes), datagram)).toBeUndefined();
        },
      ),
    );
  });

  test('with another byte in its header does not count, except in the SPI that charon chose', () => {
    for (const { version, datagram } of cases.filter(isFit)) {
      const free = version === '1' ? [19, 20, 21, 22, 23] : [];
      for (let at = 0; at < 28; at += 1) {
        if ((at >= 8 && at < 16) || free.includes(at)) continue;
        const other = Buffer.from(datagram);
        other.writeUInt8(other.readUInt8(at) ^ 0x80, at);
        expect(readResponse(version, spi, other), `IKEv${version}, byte ${at}`).toBeUndefined();
      }
    }
  });

  test('that is cut off anywhere, or longer than it says, does not count', () => {
    for (const { version, datagram } of cases.filter(isFit)) {
      for (let size = 0; size < datagram.length; size += 1) {
        const cut = Buffer.from(datagram.subarray(0, size));
        expect(readResponse(version, spi, cut)).toBeUndefined();
        if (size < 28) continue;
        // Also if its header says that nothing follows.
        cut.writeUInt32BE(size, 24);
        expect(readResponse(version, spi, cut)).toBeUndefined();
      }
      const longer = Buffer.concat([datagram, Buffer.from([0])]);
      expect(readResponse(version, spi, longer)).toBeUndefined();
      longer.writeUInt32BE(longer.length, 24);
      expect(readResponse(version, spi, longer)).toBeUndefined();
    }
  });
});

test('no datagram makes the reader fail, and random bytes are not a response', () => {
  const bytes = fc.uint8Array({ maxLength: 200 }).map((all) => Buffer.from(all));
  const headed = fc
    .record({
      head: fc
        .constantFrom(...Object.values(responses))
        .map((response) => response.subarray(0, 28)),
      body: bytes,
    })
    .map(({ head, body }) => {
      const datagram = Buffer.concat([head, body]);
      datagram.writeUInt32BE(datagram.length, 24);
      return datagram;
    });
  fc.assert(
    fc.property(fc.constantFrom(...versions), bytes, (version, datagram) => {
      expect(readResponse(version, spi, datagram)).toBeUndefined();
    }),
    { numRuns: tries(20_000) },
  );
  fc.assert(
    fc.property(fc.constantFrom(...versions), headed, (version, datagram) => {
      const response = readResponse(version, spi, datagram);
      if (response) expect(datagram.subarray(8, 16)).toEqual(response.spi);
    }),
    { numRuns: tries(20_000) },
  );
});

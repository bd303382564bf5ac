// Plays the rows of the HTTP table with a raw client and a raw origin, byte for byte, with or
// without a node between them.
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { Client, type Through } from '../proxy_world.ts';
import { at } from './family.ts';
import { type Exchange, httpTable } from './http_rows.ts';
import type { Scene } from './scene.ts';

/** A request or response as HTTP understands it. */
interface Message {
  first: string;
  headers: string[];
  body: string;
  /** Whether the message is complete. */
  isWhole: boolean;
  rest: string;
}

/** Headers for one hop, or added by one. */
const ofTheHop = /^(connection|keep-alive|proxy-connection|date):/;

/** Reads a message; `hasBody`: false for a response without a body, whatever its headers say. */
function read(text: string, kind: 'request' | 'response', hasBody = true): Message {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end < 0 ? undefined : end).split('\r\n');
  const headers = lines
    .map((line) =>
      line.replace(
        /^([^:]*):[ \t]*(.*?)[ \t]*$/,
        (_, name, value) => `${name.toLowerCase()}: ${value}`,
      ),
    )
    .filter((line) => !ofTheHop.test(line));
  const all = end < 0 ? '' : text.slice(end + 4);
  const message = { first, headers, body: all, isWhole: false, rest: '' };
  const fieldOf = (name: string) =>
    headers.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const status = kind === 'response' ? Number(first.split(' ')[1]) : undefined;
  const isEmpty = !hasBody || status === 204 || status === 304 || (status ?? 200) < 200;
  const sizeOf = fieldOf('content-length');
  if (end < 0) return message;
  if (isEmpty || (kind === 'request' && !sizeOf && !fieldOf('transfer-encoding'))) {
    return { ...message, body: '', isWhole: true, rest: all };
  }
  if (/chunked/i.test(fieldOf('transfer-encoding') ?? '')) {
    return { ...message, ...unchunk(all) };
  }
  if (sizeOf === undefined) return message;
  const size = Number.parseInt(sizeOf, 10);
  return {
    ...message,
    body: all.slice(0, size),
    isWhole: all.length >= size,
    rest: all.slice(size),
  };
}

function unchunk(text: string): Pick<Message, 'body' | 'isWhole' | 'rest'> {
  let body = '';
  for (let rest = text; ; ) {
    const [line, digits] = /^([0-9a-f]+)[^\r\n]*\r\n/i.exec(rest) ?? [];
    if (line === undefined || digits === undefined) return { body, isWhole: false, rest };
    const size = Number.parseInt(digits, 16);
    rest = rest.slice(line.length);
    if (size === 0) {
      const [trailers] = /^([^\r\n]+\r\n)*\r\n/.exec(rest) ?? [];
      return { body, isWhole: trailers !== undefined, rest: rest.slice(trailers?.length ?? 0) };
    }
    if (rest.length < size + 2) return { body: body + rest, isWhole: false, rest };
    body += rest.slice(0, size);
    rest = rest.slice(size + 2);
  }
}

/** Equal for messages with the same meaning: headers are in the order of their names. */
function meaningOf(text: string, kind: 'request' | 'response', hasBody: boolean) {
  const { first, headers, body, rest } = read(text, kind, hasBody);
  const [nameOf, isFraming] = [(line: string) => line.split(':')[0] ?? '', /^transfer-encoding:/];
  const meaning: object[] = [
    {
      first:
        kind === 'request'
          ? first.replace(/ HTTP\/1\..$/, '')
          : first.replace(/^HTTP\/1\.\d /, '').trimEnd(),
      headers: headers
        .filter((line) => kind === 'request' || !isFraming.test(line))
        .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0)),
      body,
    },
  ];
  const isInterim = kind === 'response' && / 1\d\d /.test(`${first} `.slice(8, 13));
  if (isInterim && rest !== '') meaning.push(...meaningOf(rest, kind, hasBody));
  return meaning;
}

const bytes = (text: string) => Buffer.from(text, 'latin1');
const turnsOf = (turns: string | string[]) => (typeof turns === 'string' ? [turns] : turns);
const usual = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

export interface Played {
  outcome: string;
  seen: string;
  heard: string;
}

/**
 * Plays an exchange in turns. The client sends a part. When the origin has received it, or the
 * client was refused, the origin sends a part. When the client has received that, it sends the
 * next.
 */
async function play(
  exchange: Exchange,
  host: string,
  through: Through | undefined,
): Promise<Played> {
  let seen = '';
  let socket: Socket | undefined;
  const news = new EventEmitter();
  const tell = () => news.emit('news');
  const until = async (holds: () => boolean) => {
    while (!holds()) await once(news, 'news');
  };
  const server = createServer({ allowHalfOpen: true }, (accepted) => {
    socket = accepted.on('error', () => {});
    accepted.on('data', (data) => {
      seen += data.toString('latin1');
      tell();
    });
  });
  await once(server.listen(0, host.replace(/[[\]]/g, '')), 'listening');
  const { port } = server.address() as AddressInfo;
  const fill = (text: string) => filled(text, `${host}:${port}`, through !== undefined);
  const client = await Client.open(
    through ?? { port, at: host.replace(/[[\]]/g, ''), from: host.replace(/[[\]]/g, '') },
  );
  let heard = '';
  client.socket.on('data', (data: Buffer) => {
    heard += data.toString('latin1');
    tell();
  });
  client.socket.on('end', tell).on('close', tell);
  const isOver = () => client.isEnded || client.isClosed;
  const requests = turnsOf(exchange.request);
  const responses = turnsOf(exchange.response ?? usual);
  try {
    let sent = '';
    for (const [index, request] of requests.entries()) {
      const isLast = index === requests.length - 1;
      sent += fill(request);
      client.write(bytes(fill(request)));
      const before = heard.length;
      const hasArrived = () => {
        const { isWhole, body } = read(seen, 'request');
        return (
          seen.includes('\r\n\r\n') && (isWhole || body.length >= read(sent, 'request').body.length)
        );
      };
      await until(() => hasArrived() || heard.length > before || isOver());
      if (seen === '') break;
      const response = responses[index] ?? '';
      if (isLast) socket?.end(bytes(response));
      else if (response !== '') {
        socket?.write(bytes(response));
        await until(() => heard.length - before >= response.length - 2 || isOver());
      }
    }
    await until(() => isOver() || isAnswered(heard, requests[0]?.startsWith('HEAD ') ?? false));
  } finally {
    client.socket.destroy();
    socket?.destroy();
    server.close();
  }
  return { outcome: outcomeOf(seen, heard), seen, heard };
}

function isAnswered(heard: string, isHead: boolean): boolean {
  let message = read(heard, 'response', !isHead);
  while (message.isWhole && / 1\d\d /.test(message.first.slice(8, 13))) {
    message = read(message.rest, 'response', !isHead);
  }
  return message.isWhole;
}

/** `STATUS WORD` if the node responded, else whether anything passed. */
function outcomeOf(seen: string, heard: string): string {
  if (heard === '') return 'closed';
  const [, status] = /^HTTP\/1\.1 (\d+)/.exec(heard) ?? [];
  const [, word] = /\r\n\r\nExitward: .* \((\w+)\)\.\n$/s.exec(heard) ?? [];
  if (word === undefined) return 'passes';
  // A refused request was not forwarded, unless the response to it is the reason.
  return (status === '502') === (seen !== '') ? `${status} ${word}` : `${status} ${word}, sent on`;
}

/**
 * A message with its origin filled in. For the origin itself, the request line has only the path.
 */
function filled(text: string, host: string, isForProxy: boolean): string {
  const base = isForProxy ? `http://${host}` : '';
  return text.replaceAll('{url}', `${base}/`).replaceAll('{host}', host);
}

const rows = Object.entries(httpTable).flatMap(([group, all]) =>
  all.map((row) => ({ ...row, name: `${group}: ${row.what}` })),
);

/** With a node: plays each row, and expects the outcome in the table for its engine. */
export function http(s: Scene): void {
  describe('the HTTP table', () => {
    test.each(rows)('$name', async (row) => {
      const deviation = row[s.node.engine.name];
      const { arrives, comes } = deviation ?? {};
      for (const [index, exchange] of row.exchanges.entries()) {
        const changed = {
          ...exchange,
          ...(arrives && { arrives: arrives[index] as string }),
          ...(comes && { comes: comes[index] as string }),
        };
        const expected = deviation?.outcome ?? row.rule;
        await expectPlayed(changed, expected, at(s.family.originIp), s.normal);
      }
    });
  });
}

/** Without a node: shows that the raw origin and client do not stop messages that may pass. */
export function directly(host: string): void {
  test.each(rows.filter(({ rule }) => rule.startsWith('passes')))(
    '$name',
    async ({ exchanges }) => {
      for (const { request, response } of exchanges) {
        await expectPlayed(
          { request, ...(response !== undefined && { response }) },
          'passes',
          host,
        );
      }
    },
  );
}

async function expectPlayed(
  exchange: Exchange,
  expected: string,
  host: string,
  through?: Through,
): Promise<void> {
  const { request, response = usual } = exchange;
  const played = await play(exchange, host, through);
  const [outcome] = expected.split(':');
  const sent = turnsOf(request).join('');
  expect([outcome, sent], JSON.stringify(played).slice(0, 2000)).toEqual([played.outcome, sent]);
  if (outcome !== 'passes') return;
  const [, origin = ''] = /\r\nhost: (.*)\r\n/i.exec(played.seen) ?? [];
  const isHead = sent.startsWith('HEAD ');
  const arrives = filled(exchange.arrives ?? sent, origin, false);
  expect(meaningOf(played.seen, 'request', true)).toEqual(meaningOf(arrives, 'request', true));
  const comes = exchange.comes ?? turnsOf(response).join('');
  expect(meaningOf(played.heard, 'response', !isHead)).toEqual(
    meaningOf(comes, 'response', !isHead),
  );
}

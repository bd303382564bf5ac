// The pace of a node: how often and how much it may report. Our agents stay far below.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import { tooManyRequests } from '../../errors.ts';

/** Reports per second, by path; a minute's worth may come at once. */
const rates: Readonly<Record<string, number>> = {
  '/node/usage': 20,
  '/node/last-used': 5,
  '/node/health': 5,
  '/node/faults': 2,
  '/node/rejections': 2,
  '/node/refusals': 1,
  '/node/answers': 20,
  '/node/connections': 20,
  '/node/end-orders': 20,
  '/node/holdings': 2,
  '/node/exit-uses': 5,
  '/node/erased-users': 1,
  '/node/changes': 5,
  '/node/acks': 500,
  /** Acknowledgements of an older revision: each looks up whose entries are pending again. */
  back: 0.5,
};
const savedSeconds = 60;
/** Each additional part of this many bytes counts as another report. */
const bytesOfReport = 64 * 1024;
/**
 * The maximum number of long reports that are read at once. An agent sends one, and may have given
 * up another.
 */
const maxLong = 2;

export class Pace {
  readonly #clock: Clock;
  /** By node and path: up to when (steady seconds) its reports so far have used up its pace. */
  readonly #until = new Map<string, number>();
  /** By node: how many long reports are being handled. */
  readonly #long = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a report that is about to be read. Errors: 429. */
  admit({ node, method, headers, routeOptions }: FastifyRequest, { raw }: FastifyReply): void {
    const { url = '', bodyLimit } = routeOptions;
    const declaredBytes = method === 'POST' ? Number(headers['content-length'] ?? bodyLimit) : 0;
    const length = Math.min(declaredBytes, bodyLimit);
    const long = this.#long.get(node.id) ?? 0;
    const isLong = length > bytesOfReport;
    if (isLong && long >= maxLong) throw tooMany('This node sends too much at once.', 1);
    this.take(node.id, url, 1 + Math.floor(length / bytesOfReport));
    if (!isLong) return;
    this.#long.set(node.id, long + 1);
    const settle = () => this.#long.set(node.id, (this.#long.get(node.id) ?? 1) - 1);
    raw.once('close', settle);
  }

  /** Counts reports of a node. Errors: 429. */
  take(node_id: number, what: string, reports = 1): void {
    const rate = rates[what];
    if (rate === undefined) return;
    const now = this.#clock.steady();
    const key = `${node_id} ${what}`;
    const next =
      Math.max(this.#until.get(key) ?? Number.NEGATIVE_INFINITY, now - savedSeconds) +
      reports / rate;
    if (next > now) {
      const retrySeconds = Math.ceil(next - now);
      const sentence = `This node reports too often, or too much; at most ${rate} a second of this kind, of 64 KiB.`;
      throw tooMany(sentence, retrySeconds);
    }
    this.#until.set(key, next);
  }
}

function tooMany(sentence: string, retrySeconds: number) {
  const headers = { 'retry-after': String(retrySeconds) };
  return tooManyRequests(sentence, headers, { code: 'rate_limited' });
}

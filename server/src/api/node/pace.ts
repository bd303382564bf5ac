// The pace of a node: how often it may report of each kind, and how much. A steady agent of ours stays far below.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import { tooManyRequests } from '../../errors.ts';

/** Reports a second, by path; each may come at once for a minute's worth. */
const rates: Readonly<Record<string, number>> = {
  '/node/usage': 20,
  '/node/last-used': 5,
  '/node/health': 5,
  '/node/faults': 2,
  '/node/rejections': 2,
  '/node/answers': 20,
  '/node/changes': 5,
  '/node/acks': 500,
  /** Acknowledgements of less than before: each looks up whose entries are pending again. */
  back: 0.5,
};
const savedSeconds = 60;
/** So many bytes more are one report more. */
const bytesOfReport = 64 * 1024;
/** Of those that are longer, being read or worked on. An agent sends one after another, and may have given one up. */
const maxLong = 2;

export class Pace {
  readonly #clock: Clock;
  /** By node and path: up to when, in steady seconds, its reports are paid for. As many as there are nodes. */
  readonly #until = new Map<string, number>();
  /** By node: its long reports in work. */
  readonly #long = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the report of a node that is about to be read into account. Errors: 429. */
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

  /** Takes reports of a node into account. Errors: 429. */
  take(node_id: number, what: string, reports = 1): void {
    const rate = rates[what];
    if (rate === undefined) return;
    const now = this.#clock.steady();
    const key = `${node_id} ${what}`;
    const next =
      Math.max(this.#until.get(key) ?? Number.NEGATIVE_INFINITY, now - savedSeconds) +
      reports / rate;
    if (next > now) {
      const retry_seconds = Math.ceil(next - now);
      const sentence = `This node reports too often, or too much; at most ${rate} a second of this kind, of 64 KB.`;
      throw tooMany(sentence, retry_seconds);
    }
    this.#until.set(key, next);
  }
}

function tooMany(sentence: string, retry_seconds: number) {
  const headers = { 'retry-after': String(retry_seconds) };
  return tooManyRequests(sentence, headers, { code: 'rate_limited' });
}

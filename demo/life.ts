// How the demo's network lives: what is carried when, and which servers are unwell, drawn by time
// from a fixed seed, so that a restart goes on.
import type { Reason } from '../agent/src/policy/denials.ts';

/** `behind`: changes are in force late. `down`: the node is away. */
export type Condition = 'well' | 'slow' | 'failing' | 'behind' | 'down';

/** The seed: another one makes another network. */
const seed = 'exitward';
const hour = 3600;
const day = 24 * hour;
/** Bytes a second of one account through one server at its busiest hour. */
const busiestRate = 90_000;
/** Of all bytes, those from the client. */
export const upShare = 0.08;

/** A number from 0 to 1, the same for the same words on every machine. */
export function draw(...words: Array<string | number>): number {
  let state = 0x811c9dc5;
  for (const byte of Buffer.from([seed, ...words].join(' '))) {
    state = Math.imul(state ^ byte, 0x01000193);
  }
  // The last words alone would hardly change the upper bits.
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return ((state ^ (state >>> 16)) >>> 0) / 2 ** 32;
}

/** Such numbers, one after the other. */
export function draws(...words: Array<string | number>): () => number {
  let count = 0;
  return () => {
    count += 1;
    return draw(...words, count);
  };
}

/**
 * Bytes a second that an account moves through a server on average at a time (epoch seconds): most
 * by day and on working days, by the sun at its longitude; some servers are busier than others.
 */
export function rateAt(at: number, server: { name: string; longitude: number }): number {
  const local = at + (server.longitude / 360) * day;
  const time = (local % day) / hour;
  const daylight = Math.max(0, Math.sin(((time - 7) / 14) * Math.PI));
  // 1970 began on a Thursday.
  const weekday = (Math.floor(local / day) + 4) % 7;
  const workload = weekday === 0 || weekday === 6 ? 0.45 : 1;
  return busiestRate * (0.5 + draw(server.name, 'size')) * workload * (0.25 + 0.75 * daylight);
}

interface Trouble {
  condition: Condition;
  minutes: number;
  /** That it is there at all. */
  odds: number;
  /** Only at so many of the first servers. */
  among?: number;
}

/** The faults, each next to the others: for so long at one server, then at another. */
const troubles: readonly Trouble[] = [
  // The first account's servers are the first ones: its people see a network that lives, too.
  { condition: 'slow', minutes: 17, odds: 0.9, among: 12 },
  { condition: 'slow', minutes: 29, odds: 0.9 },
  { condition: 'failing', minutes: 23, odds: 0.8 },
  { condition: 'behind', minutes: 11, odds: 0.9 },
  { condition: 'behind', minutes: 19, odds: 0.7 },
  { condition: 'down', minutes: 8, odds: 0.5 },
];

/** How each server is at a time (epoch seconds); those that are not named are well. */
export function conditionsAt(at: number, servers: readonly string[]): Map<string, Condition> {
  const conditions = new Map<string, Condition>();
  for (const [which, trouble] of troubles.entries()) {
    const { condition, minutes, odds, among = servers.length } = trouble;
    const turn = Math.floor(at / (60 * minutes));
    if (draw('trouble', which, turn) >= odds) continue;
    const server = servers[Math.floor(draw('server', which, turn) * among)];
    if (server !== undefined) conditions.set(server, condition);
  }
  return conditions;
}

/** Connections that a network with so many open ones rejects within some seconds, by reason. */
export function rejectedAt(
  random: () => number,
  seconds: number,
  connections: number,
): Array<[Reason, number]> {
  return rejectedOften.flatMap(([reason, often]) => {
    const count = Math.floor(
      often * seconds * (0.02 + connections / 400) * 2 * random() + random(),
    );
    return count > 0 ? [[reason, count] as [Reason, number]] : [];
  });
}

/** How often in a second, with four hundred connections open. */
const rejectedOften: ReadonlyArray<[Reason, number]> = [
  ['unknown_address', 0.05],
  ['bad_token', 0.02],
  ['expired_token', 0.008],
  ['server_not_on_contract', 0.004],
  ['destination_refused', 0.002],
];

// Lists in pages: `?limit=` and where to continue, answered with a Link to the next page.
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { invalidField } from '../errors.ts';
import { latestTime } from '../values/expiry.ts';
import { Digits } from './fields.ts';

const usual = '100';
const max = 1000;

/** The query fields of a list that continues after a name. */
export const PageQuery = {
  after: Type.Optional(
    Type.String({ description: 'Only what comes after this name; the Link of a response has it.' }),
  ),
  limit: Type.Optional(Digits(`Entries in a page: 1 to ${max}, ${usual} when omitted.`, 1, max)),
};

/**
 * A whole number in a query string; `fallback` if it is missing. Errors: 400 naming the field, for
 * anything but digits between `least` and `greatest`.
 */
export function wholeIn<T extends number | null>(
  field: string,
  text: string | undefined,
  fallback: T,
  least = 0,
  greatest = Number.MAX_SAFE_INTEGER,
): number | T {
  if (text === undefined) return fallback;
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= greatest) return number;
  throw invalidField(field, `expected a whole number from ${least} to ${greatest}.`);
}

/** Epoch seconds in a query string. Errors: 400. */
export const timeIn = <T extends number | null>(
  field: string,
  text: string | undefined,
  fallback: T,
  least = 0,
): number | T => wholeIn(field, text, fallback, least, latestTime);

/** How many entries a page may have. Errors: 400. */
export function limitIn(text: string = usual): number {
  return wholeIn('limit', text, 0, 1, max);
}

/** Cuts `rows`, read with one more than `limit`, to the page, and adds a Link to the next one. */
export function pageOf<T>(
  reply: FastifyReply,
  rows: T[],
  limit: number,
  next: (last: T) => Record<string, string | number>,
): T[] {
  if (rows.length <= limit) return rows;
  const page = rows.slice(0, limit);
  linkNext(reply, next(page.at(-1) as T));
  return page;
}

/** Adds a Link header to the next page: the same request with these parameters. */
export function linkNext(reply: FastifyReply, next: Record<string, string | number>): void {
  const { query, params, routeOptions } = reply.request;
  const path = routeOptions.url?.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent((params as Record<string, string>)[name] ?? ''),
  );
  const parameters = new URLSearchParams(query as Record<string, string>);
  for (const [name, value] of Object.entries(next)) {
    parameters.set(name, String(value));
  }
  reply.header('link', `<${path}?${parameters}>; rel="next"`);
}

// The pages of lists over HTTP: the query of a list, and the Link and the counts of a response.
import type { FastifyReply } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { invalidField } from '../errors.ts';
import { Digits, OneOf, Text } from '../http/fields.ts';
import { limitIn, pageOf, timeIn } from '../http/paging.ts';
import {
  type ListPage,
  noPlace,
  type PageRequest,
  type PageSlice,
  type Place,
  pageFrom,
  type Sorted,
} from '../lists/list_pages.ts';
import type { LongReads } from './long_reads.ts';

/** The query of a list with these sort orders and `filters`. */
export function listQuery<S extends string, F extends Record<string, TSchema>>(
  sorts: readonly S[],
  filters: F,
) {
  return {
    limit: Type.Optional(
      Digits(
        'Entries in a page: 1 to 1000. Without it the whole list is answered, by id.',
        1,
        1000,
      ),
    ),
    after: Type.Optional(
      Type.String({ description: 'Where the page begins; the Link of a response has it.' }),
    ),
    sort: Type.Optional(OneOf([...sorts], 'What the entries are sorted by; `id` when omitted.')),
    order: Type.Optional(OneOf(['asc', 'desc'], '`asc` when omitted.')),
    search: Type.Optional(Text('Only entries that hold this text.', 255, 0)),
    ...filters,
  };
}

/** A filter of lists whose entries end. */
export const EndsBefore = {
  ends_before: Type.Optional(
    Type.String({ description: 'Only entries that end before this time, epoch seconds.' }),
  ),
};

interface ListQuery<S> {
  limit?: string;
  after?: string;
  sort?: S;
  order?: 'asc' | 'desc';
  search?: string;
  ends_before?: string;
}

/** The page that a query requests; undefined: the whole list. Errors: 400. */
export function pageIn<S extends string>(
  query: ListQuery<S> & { limit: string },
): PageRequest<S | 'id'>;
export function pageIn<S extends string>(query: ListQuery<S>): PageRequest<S | 'id'> | undefined;
export function pageIn<S extends string>(query: ListQuery<S>): PageRequest<S | 'id'> | undefined {
  if (query.limit === undefined) {
    const [field] = Object.keys(query);
    if (field === undefined) return undefined;
    throw invalidField(field, 'is for a list in pages; expected `limit` as well.');
  }
  const { sort = 'id', order = 'asc' } = query;
  const limit = limitIn(query.limit);
  return { sort, isDescending: order === 'desc', limit, after: placeIn(query.after, sort) };
}

/** The filters that lists share. Errors: 400. */
export function filterIn({ search, ends_before }: ListQuery<string>) {
  return { search: search?.trim(), ends_before: timeIn('ends_before', ends_before, 0, 1) };
}

/** The place in a Link of ours: the sort, the value by which it sorts, and the id. Errors: 400. */
function placeIn(text: string | undefined, sort: string): Place | undefined {
  if (text === undefined) return undefined;
  try {
    const [sortedBy, value, id] = JSON.parse(
      Buffer.from(text, 'base64url').toString(),
    ) as unknown[];
    const isText = typeof value === 'string' && !value.includes('\0') && value.isWellFormed();
    const isPlace = (isText || Number.isSafeInteger(value)) && Number.isSafeInteger(id);
    if (isPlace && sortedBy === sort) return { value: value as Place['value'], id: id as number };
  } catch {}
  throw noPlace();
}

const placeText = (sort: string, { sort_key, id }: Sorted<unknown>) =>
  Buffer.from(JSON.stringify([sort, sort_key, id])).toString('base64url');

/** Reads a page next to other traffic; sets its Link and, for a first page, the counts. */
export async function readPage<R>(
  { longReads }: { longReads: LongReads },
  reply: FastifyReply,
  account_id: number,
  request: PageRequest,
  read: Parameters<typeof longReads.collect<PageSlice<R>, ListPage<R>>>[1],
): Promise<Sorted<R>[]> {
  const page = await longReads.collect(account_id, read, (slices) => pageFrom(slices, request));
  if (!request.after) {
    reply.headers({ 'exitward-total': page.total, 'exitward-found': page.found });
  }
  return pageOf(reply, page.rows, request.limit, (last) => ({
    after: placeText(request.sort, last),
  }));
}

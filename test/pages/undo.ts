// The requests of an undo in the console: just the values from before, for each row.
import { isDeepStrictEqual } from 'node:util';
import type { FakeRequest } from './fake_api.ts';

type Values = Record<string, unknown>;

/** The operation that takes back another one, both without the base of their console. */
export const undoes: Record<string, string> = {
  ...ofList('/authlist'),
  ...ofList('/overrides'),
  'POST /authlist/add': 'POST /authlist/remove',
  'PATCH /users': 'PATCH /users',
  'PATCH /accounts': 'PATCH /accounts',
  'PATCH /nodes': 'PATCH /nodes',
  'PUT /servers/{server}': 'DELETE /servers/{server}',
  'DELETE /servers/{server}': 'PUT /servers/{server}',
  'POST /servers/add': 'POST /servers/remove',
  'POST /servers/remove': 'POST /servers/add',
};

function ofList(list: string): Record<string, string> {
  return {
    [`POST ${list}`]: `DELETE ${list}/{id}`,
    [`PATCH ${list}/{id}`]: `PATCH ${list}/{id}`,
    [`DELETE ${list}/{id}`]: `POST ${list}`,
    [`PATCH ${list}`]: `PATCH ${list}`,
    [`DELETE ${list}`]: `POST ${list}/restore`,
    [`POST ${list}/remove`]: `POST ${list}/restore`,
  };
}

const base = /\/console(?=\/)|\/admin(\/accounts\/\{account\})?(?=\/)/;

/** An operation without the base of its console. */
export const nameOf = ({ operation }: FakeRequest) => operation.replace(base, '');

/** The faults of the requests that an undo has sent. `answers`: the last one to each operation. */
export function faultsOfUndo(
  act: FakeRequest,
  undo: FakeRequest | undefined,
  answers: ReadonlyMap<string, unknown>,
): string[] {
  const what = `the undo of ${act.operation}`;
  const expected = undoes[nameOf(act)];
  if (expected === undefined) return [`${what} has no row in undo.ts`];
  const [method, path = ''] = expected.split(' ');
  const [ofConsole] = base.exec(act.operation) ?? [];
  const operation = `${method} ${ofConsole}${path}`;
  if (undo?.operation !== operation)
    return [`${what} sends ${undo?.operation ?? 'nothing'}, not ${operation}`];
  const [changed, items] = [itemsOf(act), itemsOf(undo)];
  if (changed.length !== items.length)
    return [`${what} is of ${items.length} rows, not of ${changed.length}`];
  const list = path.split('/')[1] ?? '';
  const read = answers.get(`GET ${ofConsole}/${list === 'servers' ? 'network' : list}`);
  const rows = (read ?? []) as Values[];
  return items.flatMap((item, index) => {
    const change = changed[index] as Values;
    const key = item.id ?? change.id ?? keyOf(item);
    const row = rows.find((other) => String(keyOf(other)) === String(key));
    const before: Values = {
      ...made(answers.get(act.operation)),
      ...change,
      ...row,
      ...(row && { proven: row.proof === 'proven' }),
      // Of nodes that are drained already, none is named.
      ...(list === 'nodes' && { drained: !change.drained }),
    };
    const wrong = Object.keys(item).filter((name) => !isWithin(item[name], before[name]));
    // A request that makes a removed record again gives all that it had.
    const needed =
      expected === 'POST /authlist'
        ? ofAuthlist
        : expected === 'POST /overrides'
          ? ofOverrides
          : [];
    const lacking = [...(expected === nameOf(act) ? Object.keys(change) : needed)].filter(
      (name) => !(name in item),
    );
    return [
      ...wrong.map(
        (name) =>
          `${what} gives ${key} the ${name} ${JSON.stringify(item[name])}, not ${JSON.stringify(before[name])}`,
      ),
      ...lacking.map((name) => `${what} leaves out the ${name} of ${key}`),
    ];
  });
}

const ofAuthlist = ['ip', 'user', 'expiry', 'note'];
const ofOverrides = ['server', 'hostname', 'ip', 'expiry', 'note'];

/** The records that a request is about: those in its list, or the one that its path names. */
function itemsOf({ params, body }: FakeRequest): Values[] {
  const values = Object.values(body ?? {}).find(
    (item) => Array.isArray(item) && typeof item[0] === 'object',
  );
  const { account: _, ...named } = params;
  return (values as Values[] | undefined) ?? [{ ...named, ...(body as Values) }];
}

const keyOf = ({ id, account, server, name }: Values) => id ?? account ?? server ?? name;

/** The part of an answer that concerns the records that it made. */
function made(response: unknown): Values {
  const { lines = [], ...rest } = (response ?? {}) as Values & { lines?: { id: number }[] };
  return { ...rest, ids: lines.map(({ id }) => id) };
}

/** Whether a value is the former one, or a part of it. */
function isWithin(value: unknown, former: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return isDeepStrictEqual(value, former) || String(value) === String(former);
  return Object.entries(value).every(([name, item]) =>
    isWithin(item, (former as Values | undefined)?.[name]),
  );
}

// exitward operator-token: by the server, or on its machine by the database and the keys file.
import type { Noun } from '../../../kit/src/cli/command.ts';
import { Failure } from '../../../kit/src/cli/failures.ts';
import { record } from '../../../kit/src/cli/output.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { readConfig } from '../config.ts';
import type { Actor } from '../db/database.ts';
import { useHashKeys } from '../keys/hash_keys.ts';
import { createOperatorToken } from '../operators/operators.ts';
import { isName } from '../values/name.ts';
import { listAt, removeAt } from './actions.ts';
import { AdminApi } from './api.ts';
import { created, lastUsed, type Row } from './columns.ts';
import { command, nounOf } from './command.ts';
import { requireKeysOf, withCurrentDatabase } from './storage.ts';

const { commands, ...noun } = nounOf('operator-token', 'tokens of the operators', [
  {
    usage: 'list',
    list: true,
    summary: 'list operator tokens',
    run: listAt(
      '/tokens',
      ['id', 'name', created, lastUsed, ['finds connections', 'may_find_connections']],
      {
        noun: 'operator tokens',
        next: 'exitward operator-token create <name>',
      },
    ),
  },
  {
    usage: 'revoke <id>',
    summary: 'revoke an operator token',
    question: 'This revokes operator token <id> at once.',
    run: removeAt('/tokens/<id>', 'Operator token <id> is revoked.', { revoked: '<id>' }),
  },
]);
const [list, ...others] = commands;

const create = command({
  name: 'operator-token create',
  summary: "create an operator token and print it; it can't be shown again",
  arguments: { name: { read: String } },
  options: {
    'may-find-connections': { summary: 'allow finding out who used an exit IP' },
    local: {
      summary:
        'use the database and keys file of this machine, without a token, as after a restore',
    },
  },
  run: async ({ arguments: { name }, options }, env) => {
    const right = options['may-find-connections'] ? { may_find_connections: true } : {};
    const token = options.local
      ? await createLocally(env, name, right)
      : await new AdminApi(env).post<Row>('/tokens', { name, ...right });
    return record(token, ['id', 'name', ['operator token', 'admin_token']]);
  },
});

export const operatorTokenNoun: Noun<Environment> = {
  ...noun,
  commands: [...(list ? [list] : []), create, ...others],
};

const machine: Actor = { kind: 'system', name: 'exitward --local', address: '', request_id: '' };

/** Errors: a failure for a wrong name or other keys; 409 when the name is taken. */
async function createLocally(
  env: Environment,
  name: string,
  right: { may_find_connections?: boolean },
): Promise<Row> {
  if (!isName(name)) throw new Failure(`name: ${JSON.stringify(name)} is not a valid name.`);
  const config = readConfig(env);
  return withCurrentDatabase(config, async (db) => {
    const secrets = await requireKeysOf(db, config);
    await useHashKeys(db, secrets, config.keys_file);
    const { token, text } = await db.write(machine, (tx) =>
      createOperatorToken(tx, secrets, name, right),
    );
    return { id: token.id, name, admin_token: text };
  });
}

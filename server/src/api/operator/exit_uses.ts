// POST /admin/connections/find: who used an exit around a time? For operators with that right.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { canonicalAddress } from '../../../../kit/src/address.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { checkAll, invalidField } from '../../errors.ts';
import { Integer, Named, OneOf, orNull, Strict, Text, Timestamp } from '../../http/fields.ts';
import {
  type ExitUses as Answer,
  findExitUses,
  maxUses,
  useAnswerSeconds,
} from '../../nodes/nodes.ts';
import { homeOfExit, serverNames } from '../../servers/servers.ts';
import { parseAddress } from '../../values/address.ts';
import { visibleText } from '../../values/texts.ts';
import { readNames } from '../names.ts';
import { operatorWrite } from './checks.ts';
import { operatorRoute } from './route.ts';

const defaultMarginSeconds = 60;
/** The clocks of nodes and of those who report differ a little. */
const aheadSeconds = 60;

const Question = Named('ExitUseQuestion', {
  exit_ip: Text('The exit IP, as a report names it.', 64),
  at: Timestamp('The time that it names.', 1),
  margin_seconds: Type.Optional(
    Integer(`How far from that time; ${defaultMarginSeconds} when left out.`, 0, 3600),
  ),
  port: Type.Optional(Integer('The source port that it names, the one at the exit.', 1, 65_535)),
  destination: Type.Optional(
    Text('What was reached through the exit: `www.example.com:443`, `[2001:db8::1]:443`.', 300),
  ),
  reason: Text('Why it is asked, such as the number of a report; the audit log has it.', 500),
});

const Use = Named('ExitUse', {
  account: Type.String({ description: 'Account name.' }),
  user: Type.String({ description: 'User name.' }),
  address: Type.String({ description: 'The IP address that it came from.' }),
  source_port: Type.Optional(Integer('The port there, where it has one.')),
  service: Type.String({ description: 'proxy, proxy-https, or a VPN service.' }),
  since: Timestamp('When it began.'),
  until: Type.Union([Timestamp('When it ended.'), Type.Null()], {
    description: 'When it ended; null while it is open.',
  }),
  exit_ports: Type.Optional(
    Strict(
      { first: Integer('The lowest.'), last: Integer('The highest.') },
      'The ports at the exit that it may have used; missing where they are not known.',
    ),
  ),
  destination: Type.Optional(Type.String({ description: 'As the client asked for it.' })),
  dialled: Type.Optional(Type.String({ description: 'The address that was dialled for it.' })),
  unknown: Type.Array(OneOf(['port', 'destination'], 'A fact.'), {
    description: 'What was asked for and is not known of it: it may be another one.',
  }),
  server: Type.String({ description: 'Server short name.' }),
  node: Type.String({ description: 'The node that has it.' }),
  has_exit: Type.Boolean({ description: 'Whether its server has the exit now.' }),
});

const ExitUses = Named('ExitUses', {
  uses: Type.Array(Use, {
    description: `At most ${maxUses}; those of the server that has the exit now come first, then those that match in all that was asked. If there are more, each node has its share; uses of other servers are listed last if the exit was certainly not theirs at that time.`,
  }),
  more: Integer('How many more there are.'),
  missing: Type.Array(
    Strict({
      server: Type.String({ description: 'Server short name.' }),
      node: Type.String({ description: 'The node.' }),
      reason: OneOf(
        ['offline', 'outdated', 'no_answer', 'not_logged'],
        'It is offline; its agent is older than this server and may not know the question; it has not answered; it has no log of that time.',
      ),
      has_exit: Type.Boolean({ description: 'Whether its server has the exit now.' }),
    }),
    {
      description:
        'Nodes that may have had the exit at that time and cannot say. Those of the server that has it now come first; others are named only if it may have been theirs.',
    },
  ),
  server: orNull(
    Type.String({ description: 'Server short name.' }),
    'The server that has the exit now; null: it is none of this network, or not any more.',
  ),
});

/** `host:port`, IPv6 in brackets. Errors: 400. */
function destinationOf(text: string): { host: string; port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? '';
  const port = Number(digits ?? 0);
  if (/^[\x21-\x7e]+$/.test(host) && port >= 1 && port <= 65_535) {
    return { host: canonicalAddress(host) ?? host.toLowerCase(), port };
  }
  throw invalidField(
    'destination',
    `${JSON.stringify(text)} is no host with a port; expected www.example.com:443 or [2001:db8::1]:443.`,
  );
}

export function exitUseRoutes(app: FastifyInstance, ctx: Context): void {
  operatorRoute(app, 'Operator: nodes')('POST /admin/connections/find', {
    may: 'may_find_connections',
    id: 'find_exit_uses',
    summary: 'Who used an exit around a time',
    description: `For operator tokens with the right \`may_find_connections\`. Nodes that keep a log of it are asked, and waited for up to ${useAnswerSeconds} seconds. Each question is in the audit log with its reason; answers are stored nowhere.`,
    body: Question,
    answer: ExitUses,
    statuses: {
      403: 'This operator token lacks the right.',
      429: 'Too many questions of this kind are under way.',
    },
    handle: async (request) => {
      const { exit_ip, at, margin_seconds = defaultMarginSeconds, port, ...rest } = request.body;
      const [exit, destination, reason] = await checkAll([
        () => parseAddress('exit_ip', exit_ip, { addresses: 'any' }),
        () => (rest.destination === undefined ? undefined : destinationOf(rest.destination)),
        () => visibleText('reason', rest.reason),
        () => {
          if (at <= ctx.clock.now() + aheadSeconds) return;
          throw invalidField('at', `${at} is in the future; expected a time in the past.`);
        },
      ]);
      const answer = await findExitUses(
        ctx,
        (action) => operatorWrite(ctx, request, action),
        {
          ...{ exit_ip: exit, at, margin_seconds },
          ...(port === undefined ? {} : { port }),
          ...(destination === undefined ? {} : { destination }),
        },
        reason,
      );
      return present(ctx.db, answer, exit);
    },
  });
}

/** With names in place of ids. */
async function present(
  db: Reader,
  { uses, more, missing }: Answer,
  exit_ip: string,
): Promise<Static<typeof ExitUses>> {
  const namesOf = await readNames(
    db,
    uses.map(({ account, user }) => [account, user]),
  );
  return {
    uses: uses.flatMap(({ account: account_id, user: user_id, until = null, ...use }) => {
      const { account, user } = namesOf(account_id, user_id);
      return account === undefined || user === undefined ? [] : [{ account, user, ...use, until }];
    }),
    more,
    missing,
    server: await serverOfExit(db, exit_ip),
  };
}

async function serverOfExit(db: Reader, exit_ip: string): Promise<string | null> {
  const home = await homeOfExit(db, exit_ip);
  if (!home) return null;
  return (await serverNames(db, [home.server_id])).get(home.server_id) ?? null;
}

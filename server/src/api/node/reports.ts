// POST /node/usage, last-used, health, faults, refusals, answers, connections, exit-uses and
// end-orders: the reports of a node. GET /node/erased-users: the users that nodes must forget.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { canonicalAddress } from '../../../../kit/src/address.ts';
import { usesOfEntries } from '../../authlist/authlist.ts';
import type { Context } from '../../context.ts';
import {
  Integer,
  largeBodyLimit,
  Named,
  OneOf,
  Strict,
  Text,
  Timestamp,
} from '../../http/fields.ts';
import {
  answerQuestion,
  answerUseQuestion,
  connectionLogModes,
  erasedUsers,
  maxGroupsOfNode,
  maxHoldingsOfReport,
  maxNetworksOfUser,
  maxRefusalsOfReport,
  maxRowsOfBatch,
  maxUses,
  reportConnections,
  reportEnded,
  reportFaults,
  reportHealth,
  reportHoldings,
  reportRefusals,
  reportRejections,
  reportUsage,
  reportVpnHealth,
  servedAccounts,
  takeEndOrder,
} from '../../nodes/nodes.ts';
import type { HealthStatus } from '../../servers/servers.ts';
import { ExitCheck } from '../decisions.ts';
import { actorOf } from './checks.ts';
import { nodeRoute, tooOften } from './route.ts';

const UsageBatch = Named('UsageBatch', {
  boot: Text("One run of the agent's journal.", 64),
  seq: Integer('Number of the batch in that run; above that of the one before.'),
  rows: Type.Array(
    Strict({
      account: Integer('Account id.', 1),
      user: Integer('User id.', 1),
      at: Timestamp('When the traffic was, epoch seconds.', 1),
      up: Integer('Bytes from the client.', 0, 2 ** 50),
      down: Integer('Bytes to the client.', 0, 2 ** 50),
    }),
    { maxItems: maxRowsOfBatch },
  ),
});
const UsageOutcome = Type.Object(
  {
    counted: Type.Boolean({
      description:
        'False when this batch, or a later one of its run, was counted before, or is held.',
    }),
    held: Type.Boolean({
      description:
        'It is more than the node can have carried: kept until an operator has judged it.',
    }),
    left_out: Type.Array(
      Integer('Index of a row whose account or user this server does not serve.'),
    ),
    limits: Type.Array(
      Type.Object({
        account: Integer('Account id.'),
        left_bytes: Integer('What it may still transfer here; 0 when it is blocked.'),
        until: Timestamp('When its next billing period begins, epoch seconds.'),
      }),
      { description: 'What the limits leave to each account of the batch that has one.' },
    ),
    user_limits: Type.Array(
      Type.Object({
        account: Integer('Account id.'),
        user: Integer('User id.'),
        left_bytes: Integer("What the user's own limit leaves; 0 when it is used up."),
        until: Timestamp('When the next billing period begins, epoch seconds.'),
      }),
      { description: 'The same for each user of the batch who has a limit that nodes enforce.' },
    ),
  },
  { title: 'UsageOutcome' },
);
const LastUsed = Named('NewLastUsed', {
  uses: Type.Array(
    Strict({
      account: Integer('Account id.', 1),
      entry: Integer('Id of the authlist entry.', 1),
      at: Timestamp('When it last let a connection in, epoch seconds.', 1),
    }),
    { maxItems: 5000 },
  ),
});
const CheckedExit = Strict({
  ip: Text('Exit IP address of this server.', 64),
  status: Type.Union(
    ['ok', 'warn', 'crit', 'unknown'].map((status) => Type.Literal(status)),
    { description: 'The result of the check.' },
  ),
  checked_at: Timestamp('Epoch seconds of the check.', 1),
});
const CheckedVpn = Strict({
  service: Type.String({
    pattern: '^vpn-[a-z0-9]{1,16}$',
    description: 'As the services of a server name it.',
  }),
  ...CheckedExit.properties,
});
/** Enough for each exit IP, and each VPN service at it. */
const healthBodyLimit = 512 * 1024;
const Health = Named('HealthReport', {
  exit_ips: Type.Array(CheckedExit, { maxItems: 1000 }),
  vpn: Type.Optional(
    Strict(
      {
        services: Type.Array(CheckedVpn, {
          maxItems: 3000,
          description: 'Each VPN service at each exit IP, all of them.',
        }),
        certificate_expiry: Type.Union([Timestamp('Epoch seconds.', 1), Type.Null()], {
          description: 'When the certificate of the VPN ends; null: there is none.',
        }),
      },
      'Left out: the node serves no VPN.',
    ),
  ),
});
const HealthOutcome = Type.Object(
  { known: Integer("How many of the exit IPs are this server's.") },
  { title: 'HealthOutcome' },
);
const Faults = Named('FaultReport', {
  faults: Type.Array(
    Named('ReportedFault', {
      kind: Type.String({
        pattern: '^[a-z][a-z0-9_]{0,31}$',
        description: 'One word for programs: `disk`, `port`, `certificate`, …',
      }),
      subject: Type.Optional(Text('Which of several: an address, a port, a file.', 300)),
      message: Text('A sentence for people.', 1000),
      since: Timestamp('Since when, epoch seconds.', 1),
    }),
    { maxItems: 100 },
  ),
});
/** For each report: enough for the reasons of agents of several versions. */
const maxReasons = 64;
const Rejections = Named('NewRejection', {
  boot: Text('One run of the agent.', 64),
  reasons: Type.Record(
    Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }),
    Integer('Connections since that run began.', 0),
    {
      additionalProperties: false,
      maxProperties: maxReasons,
      description: 'How many connections were rejected, by the word of `exitward-agent explain`.',
    },
  ),
});
/** Enough for each row with the longest values. */
const refusalsBodyLimit = 192 * 1024;
const Refusals = Named('NewRefusals', {
  boot: Text('One run of the agent.', 64),
  seq: Integer('Number of the report in that run; above that of the one before.'),
  refusals: Type.Array(
    Strict({
      at: Timestamp('The minute, epoch seconds.', 1),
      reason: Type.String({
        pattern: '^[a-z][a-z0-9_]{0,31}$',
        description: 'By the word of `exitward-agent explain`.',
      }),
      source: Text('The IP address of the client.', 64),
      service: Type.String({
        pattern: '^[a-z][a-z0-9-]{0,31}$',
        description: 'As the services of a server name it.',
      }),
      port: Type.Optional(Integer('By the port scheme; a VPN has none.', 0, 65_535)),
      account: Type.Optional(Integer('Account id, where the credentials name one.', 1)),
      user: Type.Optional(Integer('User id, likewise.', 1)),
      count: Integer('How many since they were last reported.', 1, 1_000_000_000),
    }),
    { maxItems: maxRefusalsOfReport },
  ),
});
const Answered = Named('NodeAnswer', {
  id: Integer('Id of the question, from its record.', 1),
  answer: Named('NodeVerdict', {
    verdict: OneOf(
      ['allow', 'challenge', 'deny'],
      'Let through, asked for credentials, or turned away.',
    ),
    status: Integer('The HTTP status that the client would get.', 100, 599),
    reason: Type.String({
      pattern: '^[a-z][a-z0-9_]{0,63}$',
      description: 'One word: how the user was known (`authlist`, `token`), or why not.',
    }),
    message: Text('What the client would be answered.', 1000),
    rule: Type.Optional(Text('The record or rule that decided.', 1000)),
    account: Type.Optional(Text('Name of the account that the connection belongs to.')),
    user: Type.Optional(Text('Name of its user.')),
    exit_ip: Type.Optional(Text('The address that it would leave from.', 64)),
    dial: Type.Optional(Text('What it would connect to.', 300)),
    checked: Type.Optional(ExitCheck),
    revision: Integer('What the node has applied.'),
  }),
});

const bytes = (description: string) => Integer(description, 0, 2 ** 50);
const ofGroups = {
  connections: Integer('How many connections.', 0, 2 ** 32),
  up: bytes('Bytes from clients, so far.'),
  down: bytes('Bytes to clients, so far.'),
};
/** Enough for each group with the longest values. */
const connectionsBodyLimit = 512 * 1024;
const Connections = Named('NodeConnections', {
  watch: Integer('Id of the watch, from its record.', 1),
  groups: Type.Array(
    Strict({
      service: Type.String({
        pattern: '^[a-z][a-z0-9-]{0,31}$',
        description: 'As the services of a server name it.',
      }),
      account: Integer('Account id.', 1),
      user: Integer('User id.', 1),
      address: Text('The IP address that they come from.', 64),
      exit_ip: Text('The exit IP that they leave from.', 64),
      by: Type.Array(OneOf(['authlist', 'token', 'vpn'], 'How the user was identified.'), {
        minItems: 1,
        maxItems: 3,
      }),
      entry: Type.Optional(Integer('Id of the authlist entry that let them in.', 1)),
      ...ofGroups,
      since: Timestamp('When the oldest began, epoch seconds.'),
      last_byte_at: Timestamp('When a byte last moved, epoch seconds.'),
    }),
    { maxItems: maxGroupsOfNode, description: 'The largest groups.' },
  ),
  rest: Strict({ groups: Integer('How many groups.', 0, 2 ** 32), ...ofGroups }, 'The others.'),
});

const EndOrder = Named('NodeEndOrder', {
  order: Integer('Id of the order, from its record.', 1),
  ended: Type.Optional(
    Integer('How many connections the node ended. Left out: it takes the order.', 0, 2 ** 32),
  ),
});
/** Enough for each use with usual values. */
const usesBodyLimit = 1024 * 1024;
const port = (description: string) => Integer(description, 1, 65_535);
const ExitUses = Named('NodeExitUses', {
  question: Integer('Id of the question, from its record.', 1),
  mode: OneOf(connectionLogModes, 'Which log it keeps now.'),
  kept_since: Type.Optional(Timestamp('The start of the oldest day in its files.')),
  uses: Type.Array(
    Strict({
      service: Type.String({
        pattern: '^[a-z][a-z0-9-]{0,31}$',
        description: 'As the services of a server name it.',
      }),
      account: Integer('Account id.', 1),
      user: Integer('User id.', 1),
      address: Text('The IP address that it came from.', 64),
      source_port: Type.Optional(port('The port there.')),
      exit_ports: Type.Optional(
        Strict(
          { first: port('The lowest.'), last: port('The highest.') },
          'The ports at the exit that it may have used; left out while unknown.',
        ),
      ),
      destination: Type.Optional(Text('`host:port` as the client asked for it.', 300)),
      dialled: Type.Optional(Text('The address that was dialled for it.', 64)),
      since: Timestamp('When it began, epoch seconds.'),
      until: Type.Optional(Timestamp('When it ended; left out: it is open.')),
      unknown: Type.Array(OneOf(['port', 'destination'], 'Asked for, and not known of it.'), {
        maxItems: 2,
      }),
    }),
    { maxItems: maxUses },
  ),
  more: Integer('How many more there are.', 0, 2 ** 32),
});
const ErasedUsers = Type.Object(
  {
    users: Type.Array(Type.Object({ account: Integer('Account id.'), user: Integer('User id.') }), {
      description: 'All of them, of the last 400 days.',
    }),
  },
  { title: 'ErasedUsers' },
);

/** Enough for each user with a few addresses; with many, a node splits them. */
const holdingsBodyLimit = 512 * 1024;
const ofHolding = {
  account: Integer('Account id.', 1),
  user: Integer('User id.', 1),
  connections: Integer('Open connections.', 0, 2 ** 32),
};
const UserKey = Strict({ account: ofHolding.account, user: ofHolding.user });
const Holdings = Named('NodeHoldings', {
  whole: Type.Boolean({ description: 'Users of the range who are not named hold nothing.' }),
  after: Type.Optional(UserKey),
  through: Type.Optional(UserKey),
  users: Type.Array(
    Strict({
      ...ofHolding,
      networks: Type.Array(Text('An IPv4 address, or the /64 of an IPv6 address.', 50), {
        maxItems: maxNetworksOfUser,
        description: 'The source addresses that the user used lately; the first came first.',
      }),
    }),
    { maxItems: maxHoldingsOfReport },
  ),
});
const HeldElsewhere = Type.Object(
  {
    users: Type.Array(
      Type.Object({
        ...ofHolding,
        ahead: Integer('The connections on nodes that had some before this one did.', 0),
        networks: Type.Array(Text('An IPv4 address, or the /64 of an IPv6 address.', 50), {
          description: 'The source addresses on all nodes, this one included, in order.',
        }),
      }),
      { description: 'What each of these users holds on the other live nodes.' },
    ),
  },
  { title: 'HeldElsewhere' },
);

export function reportRoutes(app: FastifyInstance, ctx: Context): void {
  const route = nodeRoute(app);

  route('POST /node/usage', {
    bodyLimit: largeBodyLimit,
    id: 'report_usage',
    summary: 'Report a batch of usage; sending it again counts nothing twice',
    body: UsageBatch,
    answer: UsageOutcome,
    statuses: {
      429: tooOften,
      503: 'Too much of this node is held already (`held_usage_full`), or the server cannot take it now: keep the batch, and send it again.',
    },
    handle: (request) =>
      ctx.db.write(actorOf(request), (tx) =>
        reportUsage(tx, request.node.id, request.body, ctx.config.node_max_bytes_per_second),
      ),
  });

  route('POST /node/last-used', {
    bodyLimit: largeBodyLimit,
    summary: 'Report when authlist entries last let a connection in',
    body: LastUsed,
    statuses: { 429: tooOften },
    handle: async (request) => {
      const { uses } = request.body;
      const now = ctx.clock.now();
      const accounts = uses.map(({ account }) => account);
      const served = await servedAccounts(ctx.db, request.node, accounts);
      const servedUses = uses
        .filter(({ account }) => served.has(account))
        .map(({ account, entry, at }) => ({
          account_id: account,
          id: entry,
          at: Math.min(at, now),
        }));
      // Checked before they are stored: while nothing can be written, they would pile up.
      for (const { account_id, id, at } of await usesOfEntries(ctx.db, servedUses)) {
        ctx.lastUsed.authlist_entries.note(account_id, id, at);
      }
    },
  });

  route('POST /node/health', {
    bodyLimit: healthBodyLimit,
    id: 'report_health',
    summary: 'Report the health of exit IPs, and of the VPN services at each',
    body: Health,
    answer: HealthOutcome,
    statuses: { 429: tooOften },
    handle: async (request) => {
      const knownCount = await ctx.db.write(actorOf(request), async (tx) => {
        const toReport = ({ ip, status, checked_at }: Static<typeof CheckedExit>) => ({
          ip: canonicalAddress(ip) ?? ip,
          status: status as HealthStatus,
          status_time: Math.min(checked_at, tx.now),
        });
        const { exit_ips, vpn } = request.body;
        const { services, certificate_expiry } = vpn ?? { services: [], certificate_expiry: null };
        const ofVpn = services.map((entry) => ({ ...toReport(entry), service: entry.service }));
        await reportVpnHealth(tx, request.node, ofVpn, certificate_expiry);
        const { health_stale_seconds } = ctx.config;
        return reportHealth(tx, request.node, exit_ips.map(toReport), health_stale_seconds);
      });
      return { known: knownCount };
    },
  });

  route('POST /node/faults', {
    id: 'report_faults',
    summary: 'Report the whole list of what is wrong with the node now',
    body: Faults,
    statuses: { 429: tooOften },
    handle: async (request) => {
      const faults = request.body.faults.map(({ subject = null, ...fault }) => ({
        ...fault,
        subject,
      }));
      await ctx.db.write(actorOf(request), (tx) => reportFaults(tx, request.node.id, faults));
    },
  });

  route('POST /node/rejections', {
    summary:
      'Report how many connections were rejected, by reason; sending it again counts nothing twice',
    body: Rejections,
    statuses: { 429: tooOften },
    handle: async (request) => {
      const { boot, reasons } = request.body;
      await ctx.db.write(actorOf(request), (tx) =>
        reportRejections(tx, request.node.id, boot, reasons),
      );
    },
  });

  route('POST /node/refusals', {
    bodyLimit: refusalsBodyLimit,
    id: 'report_refusals',
    summary:
      'Report which connections were refused since the last report; sending it again counts nothing twice',
    body: Refusals,
    statuses: { 429: tooOften },
    handle: async (request) => {
      const { refusals_kept_seconds } = ctx.config;
      await ctx.db.write(actorOf(request), (tx) =>
        reportRefusals(tx, request.node, request.body, refusals_kept_seconds),
      );
    },
  });

  route('POST /node/holdings', {
    bodyLimit: holdingsBodyLimit,
    id: 'report_holdings',
    summary: 'Report the connections and addresses of users with limits; hear of those elsewhere',
    body: Holdings,
    answer: HeldElsewhere,
    statuses: { 429: tooOften },
    handle: async (request) => ({
      users: await reportHoldings(ctx, actorOf(request), request.node, request.body),
    }),
  });

  route('POST /node/answers', {
    id: 'answer',
    summary: "Answer an operator's question; the first answer counts",
    body: Answered,
    statuses: {
      404: 'No question of this id waits for this node: it was answered, is over, or this node is not live.',
      429: tooOften,
    },
    handle: async (request) => {
      const { id, answer } = request.body;
      await ctx.db.write(actorOf(request), (tx) => answerQuestion(tx, request.node.id, id, answer));
    },
  });

  route('POST /node/connections', {
    bodyLimit: connectionsBodyLimit,
    id: 'report_connections',
    summary: 'Report the open connections that a watch asks for',
    body: Connections,
    statuses: {
      404: 'No watch of this id waits for this node: it is over.',
      429: tooOften,
    },
    handle: async (request) => {
      const { watch, ...connections } = request.body;
      await reportConnections(ctx, actorOf(request), request.node, watch, connections);
    },
  });

  route('POST /node/end-orders', {
    id: 'take_end_order',
    summary: 'Take an order to end connections, and then say how many were ended',
    description:
      'A node ends connections only after it has taken the order here; each node takes an order once.',
    body: EndOrder,
    statuses: {
      404: 'No order of this id is there for this node: it is over, or was taken before.',
      429: tooOften,
    },
    handle: async (request) => {
      const { order, ended } = request.body;
      if (ended === undefined) await takeEndOrder(ctx, actorOf(request), request.node, order);
      else await reportEnded(ctx.db, actorOf(request), request.node, order, ended);
    },
  });
  route('POST /node/exit-uses', {
    bodyLimit: usesBodyLimit,
    id: 'answer_exit_uses',
    summary: 'Answer who used an exit around a time',
    body: ExitUses,
    statuses: {
      404: 'No question of this id waits for this node: it is over, or was answered.',
      429: tooOften,
    },
    handle: async (request) => {
      const { question, ...answer } = request.body;
      await answerUseQuestion(ctx, actorOf(request), request.node, question, answer);
    },
  });

  route('GET /node/erased-users', {
    id: 'erased_users',
    summary: 'Of which users the node keeps nothing: they were erased',
    answer: ErasedUsers,
    statuses: { 429: tooOften },
    handle: async () => ({ users: await erasedUsers(ctx.db) }),
  });
}

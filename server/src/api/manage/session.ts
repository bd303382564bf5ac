// /console and /console/session: what this server is, signing in and out.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { isSecure, type OfBrowser, setCookie } from '../../http/cookies.ts';
import { Integer, Named, Strict, Timestamp } from '../../http/fields.ts';
import { addRoute, created, type Endpoint, type Route } from '../../http/route.ts';
import {
  acceptInvite,
  describeSession,
  endSession,
  enterByLink,
  findPerson,
  minPasswordLength,
  requireCode,
  requirePerson,
  type SignedIn,
  signIn,
} from '../../sign_in/sign_in.ts';
import { version } from '../../values/version.ts';
import { visitorOf } from './checks.ts';
import type { Mount } from './mount.ts';
import {
  CodeText,
  FactorCode,
  GivenPassword,
  NameText,
  NewPassword,
  SessionRecord,
  tooManyAttempts,
} from './sign_in_fields.ts';

const Facts = Named('ConsoleFacts', {
  version: Type.String({ description: 'Version of this server.' }),
  audiences: Strict({
    account: Type.Boolean({ description: 'Whether people of accounts sign in here.' }),
    operator: Type.Boolean({ description: 'Whether operators are served here, under /admin.' }),
  }),
  min_password_length: Integer('The fewest characters of a password.', 1),
});

const Credentials = Named('Credentials', {
  account: NameText('Account name.'),
  user: NameText('User name.'),
  password: GivenPassword('Password.'),
  code: Type.Optional(
    FactorCode('Second factor: six digits of the authenticator app, or a recovery code.'),
  ),
});
const FactorWanted = Named(
  'SecondFactorWanted',
  { second_factor: Type.Literal('totp', { description: 'What `code` is expected to be of.' }) },
  'The password is right; send it again with `code`.',
);
const Code = Named('OneTimeCode', { code: CodeText });
const Invite = Named('ConsoleInvite', {
  account: Type.String({ description: 'Account name.' }),
  user: Type.String({ description: 'Name of the invited user.' }),
  display_name: Type.String({ description: 'Descriptive name.' }),
  expiry: Timestamp('Until when the invitation can be accepted.'),
  second_factor: Type.Boolean({ description: 'Whether the user must show a second factor.' }),
});
const Acceptance = Named('InviteAcceptance', {
  code: CodeText,
  password: NewPassword,
  second_factor_code: Type.Optional(
    FactorCode('Needed where the user has a second factor: a code of the app, or a recovery code.'),
  ),
});

const signedIn = 'Signed in; `Set-Cookie` holds the session.';

/** Adds a route that needs no session. */
function openRoute<Body extends TSchema = TSchema>(
  app: FastifyInstance,
  endpoint: Endpoint,
  route: Route<TSchema, Body>,
): void {
  const usual = { tag: 'Console: sign-in', config: { console: { open: true } } } as const;
  addRoute(app, endpoint, usual, { ...route, open: true });
}

/** The console's first request, on each listener that serves it. */
export function consoleFactsRoute(
  app: FastifyInstance,
  audiences: { account: boolean; operator: boolean },
): void {
  openRoute(app, 'GET /console', {
    id: 'get_facts',
    summary: 'What this server is, and whom it serves here',
    answer: Facts,
    handle: async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return { version, audiences, min_password_length: minPasswordLength };
    },
  });
}

export function sessionRoutes(app: FastifyInstance, mount: Mount): void {
  signingInRoutes(app, mount);
  inviteRoutes(app, mount);
  ownSessionRoutes(mount);
}

/** Gives the browser its cookies, and shows the person who is signed in. */
async function startedSession(
  { ctx }: Mount,
  request: OfBrowser,
  reply: FastifyReply,
  session: SignedIn,
) {
  const now = ctx.clock.now();
  const person = await findPerson(ctx.db, ctx.secrets, session.token, now);
  if (!person) throw new Error('A session that was just made does not hold.');
  const secure = isSecure(ctx.config);
  reply.header('set-cookie', setCookie(request, 'session', session, secure));
  if (session.device)
    reply.header('set-cookie', setCookie(request, 'device', session.device, secure));
  return created('/console/session', await describeSession(ctx.db, person, now));
}

function signingInRoutes(app: FastifyInstance, mount: Mount): void {
  const { ctx } = mount;
  openRoute(app, 'POST /console/session', {
    id: 'sign_in',
    summary: 'Sign in with a password and, where there is one, the second factor',
    description:
      'An unknown account or user, a user without password and an inactive one are refused as a wrong password is. Attempts are counted by user and by address; from some failures on each has to wait longer than the one before.',
    body: Credentials,
    answer: FactorWanted,
    created: SessionRecord,
    statuses: {
      200: 'The password is right, and a second factor is needed. No cookie is set.',
      201: signedIn,
      401: 'Account, user, password or code is not right.',
      429: tooManyAttempts,
    },
    handle: async (request, reply) => {
      const session = await signIn(ctx, visitorOf(ctx, request), request.body);
      return session === 'totp'
        ? { second_factor: session }
        : startedSession(mount, request, reply, session);
    },
  });

  openRoute(app, 'POST /console/session/link', {
    id: 'enter_by_link',
    summary: 'Sign in with a one-time link',
    body: Code,
    created: SessionRecord,
    statuses: {
      201: signedIn,
      401: 'The link is unknown, used, replaced or over.',
    },
    handle: async (request, reply) => {
      const session = await enterByLink(ctx, visitorOf(ctx, request), request.body.code);
      return startedSession(mount, request, reply, session);
    },
  });
}

function inviteRoutes(app: FastifyInstance, mount: Mount): void {
  const { ctx } = mount;
  openRoute(app, 'POST /console/invite', {
    id: 'look_at_invite',
    summary: 'Look at an invitation without using it up',
    body: Code,
    answer: Invite,
    statuses: {
      200: 'Whom it invites.',
      401: 'The invitation is unknown, used, replaced or over.',
    },
    handle: async (request) => {
      const now = ctx.clock.now();
      const row = await requireCode(ctx.db, ctx.secrets, 'invite', request.body.code, now);
      return {
        account: row.account_name,
        user: row.user_name,
        display_name: row.display_name,
        expiry: row.expiry,
        second_factor: row.totp_sealed !== null,
      };
    },
  });

  openRoute(app, 'POST /console/invite/accept', {
    id: 'accept_invite',
    summary: 'Accept an invitation: sets the password and signs in',
    description: "The user's other sessions end.",
    body: Acceptance,
    created: SessionRecord,
    statuses: {
      201: signedIn,
      401: 'The invitation is unknown, used, replaced or over; or the second factor is missing or wrong.',
      429: tooManyAttempts,
    },
    handle: async (request, reply) => {
      const session = await acceptInvite(ctx, visitorOf(ctx, request), request.body);
      return startedSession(mount, request, reply, session);
    },
  });
}

function ownSessionRoutes({ ctx, routesOf, write }: Mount): void {
  const route = routesOf('sign_in');
  route('GET /session', {
    may: [],
    summary: 'Who is signed in',
    answer: SessionRecord,
    handle: async ({ person }) => {
      const now = ctx.clock.now();
      // Read again: a change since the checks may be in `exitward-as-of` already.
      return describeSession(ctx.db, await requirePerson(ctx.db, person, now), now);
    },
  });

  route('DELETE /session', {
    may: [],
    id: 'sign_out',
    summary: 'Sign out',
    handle: async (request, reply) => {
      const { person } = request;
      await write(request, (tx) => endSession(tx, person, person.session_id));
      const nothing = { token: '', lifetime_seconds: 0 };
      reply.header('set-cookie', setCookie(request, 'session', nothing, isSecure(ctx.config)));
    },
  });
}

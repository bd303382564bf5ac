// /console and /console/session: what this server is, signing in and out.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import { isSecure, setCookie } from '../../http/cookies.ts';
import { errors, Integer, NoContent, Strict, Timestamp } from '../../http/fields.ts';
import { sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import {
  acceptInvite,
  describeSession,
  endSession,
  enterByLink,
  findPerson,
  min_password_length,
  type NewSession,
  requireCode,
  signIn,
} from '../../sign_in/sign_in.ts';
import { version } from '../../version.ts';
import { consoleWrite, visitorOf } from './checks.ts';
import { ownSignInRoutes } from './own_sign_in.ts';
import { userSignInRoutes } from './sign_in.ts';
import {
  CodeText,
  FactorCode,
  GivenPassword,
  NameText,
  NewPassword,
  SessionRecord,
} from './sign_in_fields.ts';

const Facts = Strict({
  version: Type.String({ description: 'Version of this server.' }),
  audiences: Strict({
    account: Type.Boolean({ description: 'Whether people of accounts sign in here.' }),
    operator: Type.Boolean({ description: 'Whether operators are served here, under /admin.' }),
  }),
  min_password_length: Integer('The fewest characters of a password.', 1),
});

const Credentials = Strict({
  account: NameText('Account name.'),
  user: NameText('User name.'),
  password: GivenPassword('Password.'),
  code: Type.Optional(
    FactorCode('Second factor: six digits of the authenticator app, or a recovery code.'),
  ),
});
const FactorWanted = Strict(
  { second_factor: Type.Literal('totp', { description: 'What `code` is expected to be of.' }) },
  'The password is right; send it again with `code`.',
);
const Code = Strict({ code: CodeText });
const Invite = Strict({
  account: Type.String({ description: 'Account name.' }),
  user: Type.String({ description: 'Name of the invited user.' }),
  display_name: Type.String({ description: 'Descriptive name.' }),
  expiry: Timestamp('Until when the invitation can be accepted.'),
  second_factor: Type.Boolean({ description: 'Whether the user must show a second factor.' }),
});
const Acceptance = Strict({
  code: CodeText,
  password: NewPassword,
  second_factor_code: Type.Optional(
    FactorCode('Needed where the user has a second factor: a code of the app, or a recovery code.'),
  ),
});

const tags = ['Console: sign-in'];
const open = { console: { open: true } } as const;
const anyone = { console: { may: [] } } as const;

/** What the console asks first, on each listener that serves it. */
export function consoleFactsRoute(
  app: FastifyInstance,
  audiences: { account: boolean; operator: boolean },
): void {
  app.get(
    '/console',
    {
      config: open,
      schema: {
        security: [],
        summary: 'What this server is, and whom it serves here',
        tags,
        response: { 200: Facts, ...errors(400) },
      },
    },
    async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return sendJson(reply, { version, audiences, min_password_length });
    },
  );
}

export function signInRoutes(app: FastifyInstance, ctx: Context): void {
  ownSignInRoutes(app, ctx);
  userSignInRoutes(app, ctx);

  /** Hands the browser its cookie, and shows whom it is signed in as. */
  const sendSession = async (reply: FastifyReply, session: NewSession) => {
    const now = ctx.clock.now();
    const person = await findPerson(ctx.db, ctx.secrets, session.token, now);
    if (!person) throw new Error('A session that was just made does not hold.');
    const cookie = setCookie(session.token, session.lifetime_seconds, isSecure(ctx.config));
    reply.header('set-cookie', cookie);
    return sendCreated(reply, '/console/session', await describeSession(ctx.db, person, now));
  };

  app.post<{ Body: Static<typeof Credentials> }>(
    '/console/session',
    {
      config: open,
      schema: {
        security: [],
        summary: 'Sign in with a password and, where there is one, the second factor',
        tags,
        body: Credentials,
        response: { 200: FactorWanted, 201: SessionRecord, ...errors(400, 401, 403, 429) },
      },
    },
    async (request, reply) => {
      const session = await signIn(ctx, visitorOf(ctx, request), request.body);
      return session === 'totp'
        ? sendJson(reply, { second_factor: session })
        : sendSession(reply, session);
    },
  );

  app.post<{ Body: Static<typeof Code> }>(
    '/console/session/link',
    {
      config: open,
      schema: {
        security: [],
        summary: 'Sign in with a one-time link',
        tags,
        body: Code,
        response: { 201: SessionRecord, ...errors(400, 401, 403) },
      },
    },
    async (request, reply) =>
      sendSession(reply, await enterByLink(ctx, visitorOf(ctx, request), request.body.code)),
  );

  app.get(
    '/console/session',
    {
      config: anyone,
      schema: {
        summary: 'Who is signed in',
        tags,
        response: { 200: SessionRecord, ...errors(400, 401) },
      },
    },
    async (request, reply) =>
      sendJson(reply, await describeSession(ctx.db, request.person, ctx.clock.now())),
  );

  app.delete(
    '/console/session',
    {
      config: anyone,
      schema: {
        summary: 'Sign out',
        tags,
        response: { 204: NoContent, ...errors(400, 401, 403) },
      },
    },
    async (request: FastifyRequest, reply) => {
      const { person } = request;
      await consoleWrite(ctx, request, (tx) => endSession(tx, person, person.session_id));
      return sendNothing(reply.header('set-cookie', setCookie('', 0, isSecure(ctx.config))));
    },
  );

  app.post<{ Body: Static<typeof Code> }>(
    '/console/invite',
    {
      config: open,
      schema: {
        security: [],
        summary: 'Look at an invitation without using it up',
        tags,
        body: Code,
        response: { 200: Invite, ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const now = ctx.clock.now();
      const row = await requireCode(ctx.db, ctx.secrets, 'invite', request.body.code, now);
      return sendJson(reply, {
        account: row.account_name,
        user: row.user_name,
        display_name: row.display_name,
        expiry: row.expiry,
        second_factor: row.totp_sealed !== null,
      });
    },
  );

  app.post<{ Body: Static<typeof Acceptance> }>(
    '/console/invite/accept',
    {
      config: open,
      schema: {
        security: [],
        summary: 'Accept an invitation: sets the password and signs in',
        description: "The user's other sessions end.",
        tags,
        body: Acceptance,
        response: { 201: SessionRecord, ...errors(400, 401, 403, 429) },
      },
    },
    async (request, reply) =>
      sendSession(reply, await acceptInvite(ctx, visitorOf(ctx, request), request.body)),
  );
}

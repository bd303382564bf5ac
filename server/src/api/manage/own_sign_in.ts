// /console/sessions, /console/password, /console/second-factor: what a person does for oneself.
import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Context } from '../../context.ts';
import { errors, IdPath, Integer, idOf, NoContent, Strict, Timestamp } from '../../http/fields.ts';
import { ownAddress } from '../../http/own_address.ts';
import { sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import {
  beginSecondFactor,
  changePassword,
  endSession,
  endSessions,
  listSessions,
  putSecondFactorInForce,
  removeSecondFactor,
  requireOwnSession,
  signInOfPerson,
} from '../../sign_in/sign_in.ts';
import { consoleWrite, requirePassword, visitorOf } from './checks.ts';
import { FactorCode, GivenPassword, NewPassword } from './sign_in_fields.ts';

const OwnSession = Strict({
  id: Integer('Names it in paths.', 1),
  current: Type.Boolean({ description: 'Whether it is the one that asks.' }),
  created_at: Timestamp('When it began.'),
  seen_at: Timestamp('When it was last used, to the minute.'),
  expiry: Timestamp('When it ends, however much it is used.'),
  address: Type.String({ description: 'Where it began.' }),
  browser: Type.String({ description: 'What the browser called itself.' }),
});
const PasswordChange = Strict({
  current_password: Type.Optional(GivenPassword('Needed where there is one.')),
  password: NewPassword,
});
const Confirmation = Strict({ password: GivenPassword('The password, asked anew.') });
const PendingFactor = Strict({
  secret: Type.String({ description: 'For the authenticator app, in base 32; shown only here.' }),
  url: Type.String({ description: 'The same as otpauth URL, for a QR code.' }),
});
const FirstCode = Strict({ code: FactorCode('Six digits of the app.') });
const RecoveryCodes = Strict({
  recovery_codes: Type.Array(Type.String(), {
    description: 'Each signs in once in place of a code of the app; shown only here.',
  }),
});

const tags = ['Console: sign-in'];
const config = { console: { may: [] } } as const;

export function ownSignInRoutes(app: FastifyInstance, ctx: Context): void {
  app.get(
    '/console/address',
    {
      config,
      schema: {
        summary: "The caller's address as the server sees it",
        tags,
        response: {
          200: Strict({ ip: Type.String({ description: 'IP address.' }) }),
          ...errors(400, 401),
        },
      },
    },
    async (request, reply) => sendJson(reply, { ip: ownAddress(request) }),
  );

  app.get(
    '/console/sessions',
    {
      config,
      schema: {
        summary: "One's own sessions, the newest first",
        tags,
        response: { 200: Type.Array(OwnSession), ...errors(400, 401) },
      },
    },
    async (request, reply) => {
      const rows = await listSessions(ctx.db, request.person, ctx.clock.now());
      return sendJson(
        reply,
        rows.map(({ id, created_at, seen_at, expiry, address, browser }) => {
          const current = id === request.person.session_id;
          return { id, current, created_at, seen_at, expiry, address, browser };
        }),
      );
    },
  );

  app.delete(
    '/console/sessions',
    {
      config,
      schema: {
        summary: 'End all other sessions of oneself',
        tags,
        response: { 204: NoContent, ...errors(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const { person } = request;
      await consoleWrite(ctx, request, (tx) => endSessions(tx, person, person.session_id));
      return sendNothing(reply);
    },
  );

  app.delete<{ Params: IdPath }>(
    '/console/sessions/:id',
    {
      config: {
        ...config,
        find: (request) =>
          requireOwnSession(ctx.db, request.person, idOf((request.params as IdPath).id)),
      },
      schema: {
        summary: 'End a session of oneself',
        tags,
        params: IdPath,
        response: { 204: NoContent, ...errors(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const { person, params } = request;
      await consoleWrite(ctx, request, (tx) => endSession(tx, person, idOf(params.id)));
      return sendNothing(reply);
    },
  );

  app.put<{ Body: Static<typeof PasswordChange> }>(
    '/console/password',
    {
      config,
      schema: {
        summary: 'Set the password; other sessions end',
        tags,
        body: PasswordChange,
        response: { 204: NoContent, ...errors(400, 401, 403, 409, 429) },
      },
    },
    async (request, reply) => {
      await changePassword(ctx, visitorOf(ctx, request), request.person, request.body);
      return sendNothing(reply);
    },
  );

  app.post<{ Body: Static<typeof Confirmation> }>(
    '/console/second-factor',
    {
      config,
      schema: {
        summary: 'Begin to set up a second factor',
        description: 'It is in force when a code of it was sent back.',
        tags,
        body: Confirmation,
        response: { 201: PendingFactor, ...errors(400, 401, 403, 409, 429) },
      },
    },
    async (request, reply) => {
      await requirePassword(ctx, request, request.body.password);
      const pending = await consoleWrite(ctx, request, async (tx) =>
        beginSecondFactor(tx, ctx.secrets, await signInOfPerson(tx, request.person, tx.now)),
      );
      return sendCreated(reply, '/console/second-factor', pending);
    },
  );

  app.put<{ Body: Static<typeof FirstCode> }>(
    '/console/second-factor',
    {
      config,
      schema: {
        summary: 'Put the second factor into force',
        description:
          'Within 15 minutes of its beginning. A second factor and recovery codes that were there before end.',
        tags,
        body: FirstCode,
        response: { 200: RecoveryCodes, ...errors(400, 401, 403, 409, 429) },
      },
    },
    async (request, reply) => {
      const { code } = request.body;
      const visitor = visitorOf(ctx, request);
      const recovery_codes = await putSecondFactorInForce(ctx, visitor, request.person, code);
      return sendJson(reply, { recovery_codes });
    },
  );

  app.post<{ Body: Static<typeof Confirmation> }>(
    '/console/second-factor/remove',
    {
      config,
      schema: {
        summary: 'Take the second factor away',
        tags,
        body: Confirmation,
        response: { 204: NoContent, ...errors(400, 401, 403, 409, 429) },
      },
    },
    async (request, reply) => {
      await requirePassword(ctx, request, request.body.password);
      await consoleWrite(ctx, request, async (tx) =>
        removeSecondFactor(tx, await signInOfPerson(tx, request.person, tx.now)),
      );
      return sendNothing(reply);
    },
  );
}

// /console/sessions, /console/password, /console/second-factor: people change how they sign in.
import { Type } from 'typebox';
import { isSecure, setCookie } from '../../http/cookies.ts';
import { IdPath, Integer, idOf, Named, Timestamp } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
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
import { requirePassword, visitorOf } from './checks.ts';
import type { Mount } from './mount.ts';
import {
  Confirmation,
  FactorCode,
  GivenPassword,
  NewPassword,
  tooManyAttempts,
} from './sign_in_fields.ts';

const OwnSession = Named('OwnSession', {
  id: Integer('Names it in paths.', 1),
  current: Type.Boolean({ description: 'Whether it is the one that asks.' }),
  created_at: Timestamp('When it began.'),
  seen_at: Timestamp('When it was last used, to the minute.'),
  expiry: Timestamp('When it ends, however much it is used.'),
  address: Type.String({ description: 'Where it began.' }),
  browser: Type.String({ description: 'What the browser called itself.' }),
});
const PasswordChange = Named('PasswordChange', {
  current_password: Type.Optional(GivenPassword('Needed where there is one.')),
  password: NewPassword,
});
const PendingFactor = Named('PendingSecondFactor', {
  secret: Type.String({ description: 'For the authenticator app, in base 32; shown only here.' }),
  url: Type.String({ description: 'The same as otpauth URL, for a QR code.' }),
});
const FirstCode = Named('SecondFactorCode', { code: FactorCode('Six digits of the app.') });
const RecoveryCodes = Named('RecoveryCodes', {
  recovery_codes: Type.Array(Type.String(), {
    description: 'Each signs in once, instead of a code of the app; shown only here.',
  }),
});

const may = [] as const;
const wrongPassword =
  'The password is wrong; or the request does not come from a page of this server.';

export function ownSignInRoutes(mount: Mount): void {
  sessionsRoutes(mount);
  passwordRoute(mount);
  secondFactorRoutes(mount);
}

function sessionsRoutes({ ctx, routesOf, write }: Mount): void {
  const route = routesOf('sign_in');
  route('GET /sessions', {
    may,
    summary: "One's own sessions, the newest first",
    answer: Type.Array(OwnSession),
    handle: async ({ person }) => {
      const rows = await listSessions(ctx.db, person, ctx.clock.now());
      return rows.map(({ id, created_at, seen_at, expiry, address, browser }) => {
        const current = id === person.session_id;
        return { id, current, created_at, seen_at, expiry, address, browser };
      });
    },
  });

  route('DELETE /sessions', {
    may,
    id: 'end_other_sessions',
    summary: 'End all other sessions of oneself',
    handle: async (request) => {
      const { person } = request;
      await write(request, (tx) => endSessions(tx, person, person.session_id));
    },
  });

  route('DELETE /sessions/:id', {
    may,
    find: (_, { id }, { person }) => requireOwnSession(ctx.db, person, idOf(id)),
    id: 'end_session',
    summary: 'End a session of oneself',
    params: IdPath,
    handle: (request) =>
      write(request, (tx) => endSession(tx, request.person, idOf(request.params.id))),
  });
}

function passwordRoute({ ctx, routesOf }: Mount): void {
  const route = routesOf('sign_in');
  route('PUT /password', {
    may,
    id: 'change_password',
    summary: 'Set the password; other sessions end',
    body: PasswordChange,
    errors: [409],
    statuses: {
      403: wrongPassword,
      429: tooManyAttempts,
    },
    handle: async (request, reply) => {
      const { body, person } = request;
      const device = await changePassword(ctx, visitorOf(ctx, request), person, body);
      reply.header('set-cookie', setCookie(request, 'device', device, isSecure(ctx.config)));
    },
  });
}

function secondFactorRoutes({ ctx, routesOf, write }: Mount): void {
  const route = routesOf('sign_in');
  route('POST /second-factor', {
    may,
    id: 'begin_second_factor',
    summary: 'Begin to set up a second factor',
    description: 'It is in force when a code of it was sent back.',
    body: Confirmation,
    created: PendingFactor,
    statuses: {
      201: 'The secret, not yet in force.',
      403: wrongPassword,
      409: 'The person has no password yet.',
      429: tooManyAttempts,
    },
    handle: async (request) => {
      await requirePassword(ctx, request, request.body.password);
      const pending = await write(request, async (tx) =>
        beginSecondFactor(tx, ctx.secrets, await signInOfPerson(tx, request.person, tx.now)),
      );
      return created('/console/second-factor', pending);
    },
  });

  route('PUT /second-factor', {
    may,
    id: 'confirm_second_factor',
    summary: 'Put the second factor into force',
    description:
      'Within 15 minutes of its beginning. A second factor and recovery codes that were there before end.',
    body: FirstCode,
    answer: RecoveryCodes,
    errors: [429],
    statuses: {
      200: 'The second factor is in force; the recovery codes are shown only here.',
      409: 'None was begun.',
    },
    handle: async (request, reply) => {
      const { body, person } = request;
      const visitor = visitorOf(ctx, request);
      const { device, ...codes } = await putSecondFactorInForce(ctx, visitor, person, body.code);
      reply.header('set-cookie', setCookie(request, 'device', device, isSecure(ctx.config)));
      return codes;
    },
  });

  route('POST /second-factor/remove', {
    may,
    id: 'remove_second_factor',
    summary: 'Take the second factor away',
    body: Confirmation,
    statuses: {
      403: wrongPassword,
      409: 'There is no second factor; or the person has no password yet.',
      429: tooManyAttempts,
    },
    handle: async (request) => {
      await requirePassword(ctx, request, request.body.password);
      await write(request, async (tx) =>
        removeSecondFactor(tx, await signInOfPerson(tx, request.person, tx.now)),
      );
    },
  });
}

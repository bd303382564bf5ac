// …/users/{user}: admins and operators let users sign in to the console, or stop them.
import { type Static, Type } from 'typebox';
import { Integer, Named } from '../../http/fields.ts';
import { created } from '../../http/route.ts';
import {
  createInvite,
  createSignInLink,
  endSessionsOf,
  resetSignIn,
} from '../../sign_in/sign_in.ts';
import type { Mount } from './mount.ts';
import type { Scope } from './scope.ts';
import { Confirmation, OneTimeCodeRecord, passwordErrors, presentCode } from './sign_in_fields.ts';
import { UserPath, userOf } from './users.ts';

const NewLink = Named('NewSignInLink', {
  lifetime_seconds: Type.Optional(
    Integer('How long the link can be used; 900 when omitted.', 1, 86_400),
  ),
});

export function userSignInRoutes({ ctx, audience, routesOf, write }: Mount): void {
  const route = routesOf('users');
  const { confirmPassword } = audience;
  const facts = {
    may: ['admin'],
    params: UserPath,
    find: (scope: Scope, names: UserPath) => userOf(ctx.db, scope, names),
  } as const;
  const locationOf = ({ path }: Scope, { user }: UserPath) => `${path}/users/${user}`;

  route('POST /users/:user/invite', {
    ...facts,
    id: 'invite_user',
    summary: 'Invite a user to set a password; the invitation before it ends',
    // The code lets its holder sign in as the user, perhaps an admin.
    ...(confirmPassword
      ? { description: 'Asks for your password again.', body: Confirmation }
      : {}),
    created: OneTimeCodeRecord,
    errors: [409],
    statuses:
      confirmPassword &&
      passwordErrors('The user is not active; or the person has no password yet.'),
    handle: async (request) => {
      await confirmPassword?.(request, (request.body as Static<typeof Confirmation>).password);
      const invite = await write(request, async (tx, scope) =>
        createInvite(tx, ctx.secrets, await userOf(tx, scope, request.params)),
      );
      return created(
        locationOf(request.scope, request.params),
        presentCode(invite, ctx.config.public_url),
      );
    },
  });

  if (audience.makes_sign_in_links) {
    route('POST /users/:user/sign-in-link', {
      ...facts,
      id: 'create_sign_in_link',
      summary: 'Make a link that signs in to the console as the user, once',
      body: NewLink,
      created: OneTimeCodeRecord,
      errors: [409],
      handle: async (request) => {
        const { lifetime_seconds } = request.body;
        const link = await write(request, async (tx, scope) =>
          createSignInLink(
            tx,
            ctx.secrets,
            await userOf(tx, scope, request.params),
            lifetime_seconds,
          ),
        );
        return created(
          locationOf(request.scope, request.params),
          presentCode(link, ctx.config.public_url),
        );
      },
    });
  }

  route('DELETE /users/:user/sign-in', {
    ...facts,
    id: 'reset_user_sign_in',
    summary: 'Take password, second factor and codes of a user, and end the sessions',
    handle: (request) =>
      write(request, async (tx, scope) => resetSignIn(tx, await userOf(tx, scope, request.params))),
  });

  route('DELETE /users/:user/sessions', {
    ...facts,
    id: 'end_user_sessions',
    summary: 'End all sessions of a user',
    handle: (request) =>
      write(request, async (tx, scope) =>
        endSessionsOf(tx, await userOf(tx, scope, request.params)),
      ),
  });
}

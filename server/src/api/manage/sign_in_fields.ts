// The fields of signing in, for /console and /admin.
import { Type } from 'typebox';
import { Integer, Named, Strict, Text, Timestamp } from '../../http/fields.ts';
import { maxPasswordLength, minPasswordLength, type OneTimeCode } from '../../sign_in/sign_in.ts';
import { flagFields } from '../account/users.ts';

/** Longer than any valid name; an invalid name is refused like an unknown one. */
export const NameText = (description: string) => Text(description, 63);

/** A password that a person enters. Its length says nothing about whether it is right. */
export const GivenPassword = (description: string) => Text(description, 4 * maxPasswordLength);

export const Confirmation = Named('PasswordAnew', {
  password: GivenPassword('The password once more.'),
});

export const tooManyAttempts = 'Too many attempts; `Retry-After` says how long to wait.';

/** The errors of a route that asks for the password again. */
export const passwordErrors = (conflict: string) => ({
  403: 'The password is wrong; or the person does not have the admin flag.',
  409: conflict,
  429: tooManyAttempts,
});

export const NewPassword = Text(
  `${minPasswordLength} to ${maxPasswordLength} characters, at least five of them different.`,
  4 * maxPasswordLength,
);

export const FactorCode = (description: string) => Text(description, 64);

export const CodeText = Text('The one-time code (ewl_…).', 64);

export const SessionRecord = Named('Session', {
  account: Type.String({ description: 'Account name.' }),
  user: Strict({
    id: Integer('Numeric user id.', 1),
    name: Type.String({ description: 'User name.' }),
    display_name: Type.String({ description: 'Descriptive name.' }),
    flags: Strict(flagFields, 'Permissions.'),
  }),
  session_id: Integer('Names the session in paths.', 1),
  created_at: Timestamp('When it began.'),
  expiry: Timestamp('When it ends, however much it is used.'),
  second_factor: Type.Boolean({ description: 'Whether signing in takes a second factor.' }),
  has_password: Type.Boolean({ description: 'Whether the user has a password.' }),
  writable: Type.Boolean({ description: 'Whether the contract takes changes.' }),
  contract: Strict({
    suspended: Type.Boolean({ description: 'Whether the operator has suspended it.' }),
    expiry: Timestamp('When it ends.'),
  }),
  now: Timestamp("The server's time."),
});

export const OneTimeCodeRecord = Named('HandedCode', {
  code: Type.String({ description: 'The one-time code (ewl_…), shown only here.' }),
  path: Type.String({ description: 'Where the console takes it.' }),
  url: Type.String({ description: 'The same with the address of the console, to be handed on.' }),
  expiry: Timestamp('Until when it can be used.'),
});

/** A one-time code as it is sent, with the address of the console. */
export function presentCode({ code, path, expiry }: OneTimeCode, public_url: string) {
  return { code, path, url: public_url + path, expiry };
}

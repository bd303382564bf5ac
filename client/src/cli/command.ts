// A command of exw: it works with a session.
import { type Command as CommandWith, commandsWith } from '../../../kit/src/cli/command.ts';
import type { Session } from './session.ts';

export type Command = CommandWith<Session>;

export const command = commandsWith<Session>();

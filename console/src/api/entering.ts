// Somebody has signed in on this page.
import { setServerTime } from '../now.ts';
import { type Session, setSession } from './session.ts';

export function enterAs(entered: Session): void {
  setServerTime(entered.now);
  setSession(entered);
}

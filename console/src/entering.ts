// Somebody has signed in: nothing of who was there before stays on the page.
import { setServerTime } from './now.ts';
import { queries } from './reading.ts';
import { type Session, setSession } from './session.ts';

export function enterAs(entered: Session): void {
  queries.clear();
  setServerTime(entered.now);
  setSession(entered);
}

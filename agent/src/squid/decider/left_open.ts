// Connections that are no longer allowed, but stay open by the operator's setting
// (`on_revoke: leave`). Each is reported once, and again when it ends or is allowed.
import type { Revoked } from '../../policy/sessions.ts';

export class LeftOpen {
  readonly #reported = new Set<string>();

  /** Those of them that were not reported yet. */
  unreported(revoked: readonly Revoked[]): Revoked[] {
    return revoked.filter(({ connection }) => {
      const isNew = !this.#reported.has(connection);
      this.#reported.add(connection);
      return isNew;
    });
  }

  /** How many of the reported ones have ended or are allowed again: those that are not in `all`. */
  takeOver(all: readonly Revoked[]): number {
    const before = this.#reported.size;
    const names = new Set(all.map(({ connection }) => connection));
    for (const name of this.#reported) if (!names.has(name)) this.#reported.delete(name);
    return before - this.#reported.size;
  }
}

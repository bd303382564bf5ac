// The field for a short name, with the server's rule for it, which browsers check before sending.
import { TextField } from '../ui/ui.ts';

export function NameField({ label = 'Name', hint }: { label?: string; hint?: string }) {
  return (
    <TextField
      label={label}
      name="name"
      required
      maxLength={63}
      autocapitalize="off"
      pattern="\s*[A-Za-z0-9][A-Za-z0-9._@\-]*\s*"
      title="Letters, digits, . _ @ and -, beginning with a letter or digit."
      hint={hint && `${hint} Letters, digits and . _ @ -`}
    />
  );
}

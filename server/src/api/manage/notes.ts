// The note of an entry over HTTP, and by whom and when it was added: for people and operators.
import { Type } from 'typebox';
import { Text, Timestamp } from '../../http/fields.ts';
import type { Noted } from '../../lists/notes.ts';

export const Note = Text('What the entry is for.', 200, 0);

export const noteFields = {
  note: Type.String({ description: 'What the entry is for; empty when none was given.' }),
  added_by_kind: Type.Union([Type.String(), Type.Null()], {
    description: 'Who added it: account (an API token), user or operator; null: not known.',
  }),
  added_by: Type.Union([Type.String(), Type.Null()], {
    description: 'Its name, as in the audit log; null: not known.',
  }),
  added_at: Type.Union([Timestamp('Epoch seconds.'), Type.Null()], {
    description: 'When it was added; null: not known.',
  }),
};

export const shownNote = ({ note, added_by_kind, added_by, added_at }: Noted) => ({
  ...{ note, added_by_kind, added_by, added_at },
});

// One or more secrets that the server has just made.
import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { Copy } from './copy.tsx';
import { StartingFocus } from './starting_focus.tsx';

interface ShownOnceProps {
  /** The secret, and its name for "Copy the token"; without them the children show it. */
  name?: string;
  text?: string;
  /** The text above it. */
  lead: ComponentChildren;
  /** The ways to use it. */
  children?: ComponentChildren;
  onDone: () => void;
}

export function ShownOnce({ name, text, lead, children, onDone }: ShownOnceProps) {
  return (
    <StartingFocus>
      <p>{lead}</p>
      <div class="stack shown-once">
        {name !== undefined && text !== undefined && <Copy text={text} name={name} />}
        {children}
      </div>
      <div class="actions">
        <Button kind="primary" onClick={onDone}>
          Done
        </Button>
      </div>
    </StartingFocus>
  );
}

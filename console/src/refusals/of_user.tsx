// The last refused connections that name a user.
import { Link } from 'wouter-preact';
import { usePages } from '../api/paging.ts';
import { useScope } from '../api/scope.ts';
import { Card, Empty, Loaded } from '../ui/ui.ts';
import { RefusalTable } from './table.tsx';

const maxRows = 5;

export function RefusalsOfUser({ name }: { name: string }) {
  const scope = useScope();
  const { rows, hasMore } = usePages('console_list_refusals', {
    ...{ query: { user: name }, limit: maxRows, base: scope.base },
  });
  return (
    <Card
      title="Last refusals"
      note={`Connections that were refused to ${name}.`}
      actions={hasMore && <Link href={scope.paths.refusalsOf(name)}>All refusals</Link>}
    >
      <Loaded reading={rows} name="the refused connections">
        {(shown) =>
          shown.length === 0 ? (
            <Empty title="Nothing refused lately" />
          ) : (
            <RefusalTable rows={shown} scope={scope} ofUser />
          )
        }
      </Loaded>
    </Card>
  );
}

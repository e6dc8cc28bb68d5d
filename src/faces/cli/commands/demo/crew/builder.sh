# Stands in for a builder of `msg demo --crew`: it gets the same text as a model would, and changes files of its worktree.
# What it does at which attempt of which task is written here.

branch=ravenry/crew-PLAN
id=$(sed -n 's/^This is task `\([^`]*\)`.*/\1/p' | head -n 1)
attempt=1
until mkdir "$HOME/begun/$id.$attempt" 2>/dev/null; do
  attempt=$((attempt + 1))
  [ "$attempt" -le 9 ] || exit 1
done

# Waits until a command succeeds, for a minute at most.
wait_for() {
  left=1200
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || exit 1
    sleep 0.05
  done
}

case "$id.$attempt" in
  B-1.1) # It is killed halfway.
    echo 'bread 3' > shop/prices.txt
    kill -9 $$
    ;;
  B-1.2) echo 'cake 5' >> shop/prices.txt ;;
  B-2.1) ;; # It does nothing, and says that it did.
  B-2.2)
    wait_for test -d "$HOME/begun/B-3.1"
    echo 'Monday to Friday, 6 to 18' > shop/hours.txt
    ;;
  B-3.*) # The first attempt does not see what others add meanwhile.
    ls shop/* > contents.txt
    wait_for git cat-file -e "$branch:shop/prices.txt"
    wait_for git cat-file -e "$branch:shop/hours.txt"
    ;;
  B-4.1) echo 'Welcome' > page.txt ;;
  B-4.2) # What the reviewer wanted.
    wait_for test -d "$HOME/begun/B-5.1"
    echo 'Welcome! Fresh bread at six.' > page.txt
    ;;
  B-5.1) # It changes a file that its task does not name, and another worker the same line.
    echo 'From the station, turn left.' > way.txt
    echo 'How to find us: way.txt' > page.txt
    wait_for git grep -q Welcome "$branch" -- page.txt
    ;;
  B-5.2) # It keeps both sides of the conflict.
    both=$(sed -e '/^<<<<<<< /d' -e '/^=======$/d' -e '/^>>>>>>> /d' page.txt)
    printf '%s\n' "$both" > page.txt
    ;;
esac
echo "$id is done."

;;; What functions and forms mean.

(search-knowledge "locks")
;=> ((:name "sys-flock" :kind file :description "Takes and gives locks." :confidence 0.75 :basis read :verdict fresh :anchors ("src/sys/flock.rs") :concepts ("guards" "locks") :symbols ("Guard" "lock") :author "ann" :at "2025-11-10T00:00:00.000Z" :changed "2025-11-10T00:00:00.000Z"))

(search-knowledge "writer" 2)
;=> (table (:name :kind :status :description :rationale :impact :confidence :basis :verdict :anchors :supersedes :author :at :changed :evidence)
;    ("log-per-writer" decision active "Each writer appends to a log of its own." "Two writers of one file lose data." 9 0.75 read fresh ("src/store/log.rs") ("decision/file-per-message") "bob" "2025-11-14T00:00:00.000Z" "2025-11-14T00:00:00.000Z" nil)
;    ("one-writer" principle nil "Each file has one writer." nil nil 0.9 tested nil ("src/store/log.rs:1-9") nil "ann" "2025-11-12T00:00:00.000Z" "2025-11-12T00:00:00.000Z" ("the crash sweep" "the storm test")))

(map :name (search-knowledge :lock 3))
;=> ("one-flock" "guard-value" "sys-flock")

(get-record "decision/one-flock")
;=> (:name "one-flock" :kind decision :status active :description "One flock guards all names." :rationale "Two locks were taken in different orders." :impact 8 :confidence 0.9 :basis tested :verdict fresh :anchors ("src/store/names.rs#Names" "src/sys/flock.rs:12") :tags (:area "locks") :related (:files ("src/store/registry.rs") :principles ("one-writer")) :also ("mutex") :author "ann" :at "2025-11-09T00:00:00.000Z" :changed "2025-11-09T00:00:00.000Z")

(get-patterns-by-type "concurrency")
;=> ((:name "guard-value" :kind pattern :type "concurrency" :description "A lock is a value that is dropped." :confidence 0.75 :basis read :anchors ("src/sys/flock.rs#Guard") :author "ann" :at "2025-11-11T00:00:00.000Z" :changed "2025-11-11T00:00:00.000Z"))

(get-relationships-from "one-flock")
;=> ((:name "flock-supports-writer" :kind relationship :type supports :from "one-flock" :to "one-writer" :description "The lock makes the writer single." :confidence 0.75 :basis read :author "ann" :at "2025-11-12T00:00:00.000Z" :changed "2025-11-12T00:00:00.000Z"))

(get-relationships-to (get-principle "one-writer"))
;=> ((:name "flock-supports-writer" :kind relationship :type supports :from "one-flock" :to "one-writer" :description "The lock makes the writer single." :confidence 0.75 :basis read :author "ann" :at "2025-11-12T00:00:00.000Z" :changed "2025-11-12T00:00:00.000Z"))

(neighbours "one-flock")
;=> (table (:name :why)
;    ("file/sys-flock" "also at src/sys/flock.rs")
;    ("one-writer" "one-flock supports one-writer")
;    ("one-writer" "related principles")
;    ("pattern/guard-value" "also at src/sys/flock.rs")
;    ("src/store/registry.rs" "related files"))

(contradictions)
;=> (table (:one :other :why)
;    ("decision/toml-config" "bob said: Settings are JSON." "said without having seen the other")
;    ("toml-config" "names-say-what" "Keys of TOML are short."))

(who)
;=> (table (:author :records :latest)
;    ("ann" 7 "2025-11-16T00:00:00.000Z")
;    ("cid" 4 "2025-11-15T00:00:00.000Z")
;    ("bob" 3 "2025-11-14T00:00:00.000Z"))

(who "src/sys/flock.rs")
;=> ((:author "ann" :records 3 :latest "2025-11-11T00:00:00.000Z"))

(history "one-flock")
;=> (table (:at :author :text)
;    ("1970-01-01T00:00:01.000Z" "ann" "recorded")
;    ("1970-01-01T00:00:02.000Z" "bob" "confirmed"))

(outline "src/sys/flock.rs")
;=> (table (:name :kind :from :to)
;    ("Guard" struct 3 9)
;    ("lock" function 12 40))

(outline "src/none.rs")
;=> nil

(map :name (get-stale))
;=> ("tests-need-tty" "file-per-message")

(map :name (get-recent "3d"))
;=> ("tests-need-tty" "cargo-jobs" "log-per-writer")

(map (lambda (r) (@ r :at)) (get-recent 2))
;=> ("2025-11-16T00:00:00.000Z" "2025-11-15T00:00:00.000Z")

(get-file-understanding "flock.rs")
;=> (:name "sys-flock" :kind file :description "Takes and gives locks." :confidence 0.75 :basis read :verdict fresh :anchors ("src/sys/flock.rs") :concepts ("guards" "locks") :symbols ("Guard" "lock") :author "ann" :at "2025-11-10T00:00:00.000Z" :changed "2025-11-10T00:00:00.000Z")

(map :also-said (get-decisions))
;=> (() () () ("Settings are JSON. (bob, 2025-11-10T00:00:00.000Z)"))

(:area (get-decision "one-flock"))
;=> "locks"

(get (get-decision "one-flock") :no-such-field "default")
;=> "default"

(list (= "active" :active 'active) (eq? '() nil) (= 1 1.0) (= '(1 (2)) [1 [2]]) (= {:a 1 :b 2} {:b 2 :a 1}))
;=> (true true true true true)

(list (> nil 1) (< "a" "b" "c") (<= 1 1 2) (compare 2 1))
;=> (false true true 1)

(list (if '() 1 2) (if nil 1 2) (if 0 1 2) (and) (or) (and 1 nil 2) (or nil 3))
;=> (1 2 1 true false nil 3)

(list (/ 6 3) (/ 1 4) (- 3) (* 1.5 2) (quotient 7 2) (mod -7 2) (round 2.5) (round 0.876 2) (expt 2 10) (sqrt 16))
;=> (2 0.25 -3 3 3 1 3 0.88 1024 4)

(list (+ 9223372036854775807 1) (* 9223372036854775807 2) (- -9223372036854775808) 1/4 -2.5e3)
;=> (9223372036854776000 18446744073709552000 9223372036854776000 0.25 -2500)

(list (first '()) (rest '()) (nth '(1 2) 5) (nth '(1 2) 5 'none) (take 9 '(1)) (take '(1 2 3) 2) (drop 1 '(1 2)))
;=> (nil () nil none (1) (1 2) (2))

(let ((xs '(3 1 2))) (list (sort xs <) (sort > xs) (sort-by - xs) (sort-by xs -) (sort xs)))
;=> ((1 2 3) (3 2 1) (3 2 1) (3 2 1) (1 2 3))

(sort-by (fn [x] (mod x 3)) (fn [a b] (compare b a)) (range 7))
;=> (2 5 1 4 0 3 6)

(let ((x 1)) (let ((x 2) (y x)) (list x y)))
;=> (2 1)

(let [x 1 y x] (list x y))
;=> (1 1)

((fn fact [n] (if (< n 2) 1 (* n (fact (dec n))))) 10)
;=> 3628800

(define (count-down n) (if (= n 0) 'done (count-down (- n 1)))) (count-down 20000)
;=> done

(define (f x) (define y (* x 2)) (define (g z) (+ y z)) (g 1)) (f 5)
;=> 11

((lambda (a . rest) (list a rest)) 1 2 3)
;=> (1 (2 3))

((fn [a & [b c]] [a b c]) 1 2 3)
;=> (1 2 3)

(map #(str %1 "-" %2) '(a b) '(1 2))
;=> ("a-1" "b-2")

(str "a" 1 :k 'sym nil '(1 "x") 0.5)
;=> "a1:ksym(1 \"x\")0.5"

(list (substring "straße" 3 6) (upper-case "ä") (count "äöü") (split "a,b,c" ",") (join '("a" "b") "-") (trim "  x "))
;=> ("aße" "Ä" 3 ("a" "b" "c") "a-b" "x")

(format "%s has %d, %.1f%%" "x" 3 12.34)
;=> "x has 3, 12.3%"

(frequencies '(a b a))
;=> (:a 2 :b 1)

(unique '(1 1.0 "a" :a 2))
;=> (1 "a" 2)

(assoc {:a 1} :a 2 :b 3)
;=> (:a 2 :b 3)

(merge {:a 1} {:a 2 :b [1 2]})
;=> (:a 2 :b (1 2))

(flatten '(1 (2 (3 ())) 4))
;=> (1 2 3 4)

(partition 2 '(1 2 3 4 5))
;=> ((1 2) (3 4))

(map (partial + 10) '(1 2))
;=> (11 12)

((comp inc (fn [x] (* x 2))) 5)
;=> 11

(reductions + 0 '(1 2 3))
;=> (0 1 3 6)

`(a ,@'(1 2) ,(+ 1 2) [b ,1])
;=> (a 1 2 3 (b 1))

(-> 5 (- 3) inc)
;=> 3

(->> 5 (- 3) inc)
;=> -1

(when-let [x nil] 1)
;=> nil

(some->> (get-notes) (map :name) first)
;=> "cargo-jobs"

#_(ignored) #| so is
this |# (list 1 #_2 3) ; and this
;=> (1 3)

(list "a \"quoted\" \\ text" #\a #\space)
;=> ("a \"quoted\" \\ text" "a" " ")

(cond ((assoc 'b '((a 1) (b 2))) => second) (else 'none))
;=> 2

(help)
;=> (search-knowledge "file locks" 5) ; the best first
;   (get-decisions)
;   (:rationale (get-decision "one-flock"))
;   (get-principles)
;   (get-file-understanding "src/sys/flock.rs")
;   (get-related-files "src/sys/flock.rs")
;   (neighbours "one-flock") ; what belongs to it, and why
;   (get d :status "none") ; also (@ d :status), (@ 'status d), (:status d)
;   (filter (lambda (p) (> (@ p :confidence) 0.8)) (get-principles))
;   (sort-by :confidence > (get-principles)) ; or (sort-by xs :confidence)
;   (help all) ; the other functions, the forms and the fields

(count (help))
;=> 11

(help take)
;=> (:name take :example "(take 5 (get-recent))" :also-called (list-head limit))

(help mapcar)
;=> (:name map :example "(map :name (get-decisions))" :also-called (mapcar mapv pmap vector-map for-each mapc run! collect))

(conj {:a 1} [:a 2] [:b 3])
;=> (:a 2 :b 3)

(conj {:a 1} {"a" 2 :b 3})
;=> (:a 2 :b 3)

(into {:a 1} [[:a 2] [:b 3] [:b 4]])
;=> (:a 2 :b 4)

(into {} (map (fn [d] [(:author d) (:name d)]) (get-patterns)))
;=> (:ann "guard-value" :bob "staged-change")

(count '{:a 1 :a 2})
;=> 1

(select-keys {:a 1 :b 2} [:a "a" :b])
;=> (:a 1 :b 2)

(count (unique '(9007199254740992 9007199254740993 9007199254740992.0 1 1.0 -0.0 0)))
;=> 4

(count (unique (list ["a" "b"] ["a\" \"b"] ["a\"" "b"] '("a" b) [1 2] ["1" 2] [12] {} nil '())))
;=> 8

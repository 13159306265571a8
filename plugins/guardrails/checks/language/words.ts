// Frequent short words of languages that share a script, and letters that only some of them have. Words that several
// languages share are listed for each: they count less (identify.ts).

interface Vocabulary {
  readonly words: string;
  /** Letters that few other languages of its script have. */
  readonly letters: string;
}

export const latin: Readonly<Record<string, Vocabulary>> = {
  eng_Latn: {
    words:
      'the and of to is in that it was for on are with as his they be at one have this from or had by not but what all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him into time has look two more write go see could no way than first been who its now find long down day did get come made may part over please you my me our i am does should after where why most also because very just any help want need',
    letters: '',
  },
  spa_Latn: {
    words:
      'el la los las de que y en un una es por con para su se lo como más pero sus le ya o este sí porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante todos uno les ni contra otros ese eso ante ellos esto mí antes algunos qué yo otro él tanto estos mucho nada muchos cual poco ella estar está son fue ser tiene puede hacer usted gracias hola mi te ha del al',
    letters: 'ñ¿¡',
  },
  por_Latn: {
    words:
      'o a os as de que e do da em um para é com não uma no se na por mais dos como mas foi ao ele das tem à seu sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos ter seus quem nas me esse eles estão você tinha foram essa num nem suas meu às minha têm numa pelos havia seja qual será nós tenho lhe deles fazer pode obrigado então são',
    letters: 'ãõ',
  },
  fra_Latn: {
    words:
      "le la les de des et à un une est que en qui dans pour pas ce sur se plus par je avec tout faire son il au ne nous on mais ou si leur y dire elle devoir avant deux même prendre aussi celui donner bien où fois vous encore nouveau aller cela entre premier vouloir déjà grand mon me moins aucun lui temps très savoir falloir voir quelque sans raison notre dont sont été être ont cette ces comme du aux était c'est j'ai d'un l'on qu'il votre merci bonjour peut",
    letters: 'œ',
  },
  deu_Latn: {
    words:
      'der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch man sein wurde sei ich wir ihr mich mir uns kann können habe bitte danke wenn dieser diese dieses schon sehr hier jetzt was warum doch immer muss unser euch',
    letters: 'ß',
  },
  ita_Latn: {
    words:
      'il lo la i gli le di a da in con su per tra fra e è un una uno che non si sono ma come anche più se questo questa della del nel alla al dei delle degli nella sul ci ho ha hanno era io tu lui lei noi voi loro mi ti vi ne cui quando dove perché molto tutto tutti suo sua suoi essere stato stata fare può bene già ancora solo cosa dopo prima così sempre grazie ciao quello qui',
    letters: '',
  },
  nld_Latn: {
    words:
      'de het een en van in is dat op te zijn met voor niet aan er om ook als dan maar bij nog uit door over ze zich hij naar heeft hebben had worden wordt werd meer geen kan deze dit die wat wel ik je we mijn ons jij jullie u zo al waar wie waarom hoe moet zou zal veel tot onder tegen na mij hun haar was waren omdat toen graag dank goed heel iets niets altijd',
    letters: '',
  },
  swe_Latn: {
    words:
      'och att det i en som är på för av med den till inte han de ett om var jag men så har vi från ut kan när år under också efter eller nu sin där vid mot ska skulle kommer få alla andra mycket än här då sedan över bara in blir upp även vad får två vill ha många hur mer går utan du oss mig hon dem vara sig varför tack detta denna',
    letters: '',
  },
  dan_Latn: {
    words:
      'og at det i en som er på for af med den til ikke han de et om var jeg men så har vi fra ud kan når år under også efter eller nu sin der ved mod skal skulle kommer få alle andre meget end her da siden over kun ind bliver op hvad to vil have mange hvor mere går uden du os mig hun dem være sig hvorfor tak dette denne blev nogle noget',
    letters: '',
  },
  nor_Latn: {
    words:
      'og at det i en som er på for av med den til ikke han de et om var jeg men så har vi fra ut kan når år under også etter eller nå sin der ved mot skal skulle kommer få alle andre mye enn her da siden over bare inn blir opp hva to vil ha mange hvor mer går uten du oss meg hun dem være seg hvorfor takk dette denne ble noen noe ei hvordan',
    letters: '',
  },
  fin_Latn: {
    words:
      'ja on ei se että hän oli joka mutta kun niin kuin ovat tai myös sen hänen minä sinä me te he jos nyt vain mitä missä kuka olen olet olemme ollut voi voin tämä tämän nämä sitä siitä vielä jo koska kaikki sekä mukaan jälkeen ennen paljon hyvin kiitos minun sinun eikä ole mikä miksi miten sitten kanssa',
    letters: '',
  },
  pol_Latn: {
    words:
      'i w nie na z do to że się o jest jak po co tak za od ale przez dla czy już tylko jego jej być może przy są był była było ma lub oraz który która które także tym tego też ich bardzo gdy jeszcze więc ten ta te mnie mi my wy on ona oni ja ty dziękuję proszę można kiedy gdzie dlaczego wszystko bo ze we nas pod nad',
    letters: 'łąężźćśń',
  },
  ces_Latn: {
    words:
      'a se na je v že to s z do o i ve jsem jak ale za po si by jsou byl od pro tak jeho ho jako nebo být ještě jen už tom která který které při jsme má také však jeho její kde když co není podle mezi až bylo byla mohu prosím děkuji já ty my vy on ona oni můj tento tato proč protože všechno velmi mi mě nás jste může',
    letters: 'řůě',
  },
  slk_Latn: {
    words:
      'a sa na je v že to s z do o i vo som ako ale za po si by sú bol od pre tak jeho ho alebo byť ešte len už tom ktorá ktorý ktoré pri sme má tiež však jej kde keď čo nie podľa medzi až bolo bola môžem prosím ďakujem ja ty my vy on ona oni môj tento táto prečo pretože všetko veľmi mi ma nás ste môže',
    letters: 'ľĺŕô',
  },
  slv_Latn: {
    words:
      'in je na v za se da so ne ki pa z tudi s po bi bil bila bilo od do ali kot ga mu pri še že le kaj kako kje zakaj ker sem si smo ste jaz ti mi vi on ona oni moj ta to te lahko ima imajo če ko kjer pred med vse zelo hvala prosim bo bodo samo nato potem več jih njegov',
    letters: '',
  },
  hrv_Latn: {
    words:
      'i je u na se da su za od s a što kao koji koja koje nije ili ali to bi iz do ne po već sam si smo ste ja ti mi vi on ona oni moj ovaj ova ovo može imaju ima ako kad kada gdje pred među sve vrlo hvala molim biti bio bila bilo pa li kod koliko možete nas vas mi samo zatim više ih njegov zašto kako jer te uz',
    letters: 'đ',
  },
  ron_Latn: {
    words:
      'și în de la a cu pe nu că o un este din pentru care mai se au ce sunt fi sau dar am ca prin după fost al ale lui ei eu tu el ea noi voi foarte când unde cum acest această aceste toate tot ar dacă numai doar între până fără despre poate mulțumesc vă rog îmi te ne le iar era fie sa lor',
    letters: 'șțăş',
  },
  hun_Latn: {
    words:
      'a az és hogy nem is egy ez meg de van volt csak már mint ha vagy még azt el ki mert minden lehet kell én te ő mi ti ők ezt nagyon után előtt sem így úgy majd pedig lesz vannak voltak amely aki ami köszönöm kérem hol mikor miért hogyan jó itt ott most olyan között alatt szerint való',
    letters: 'őű',
  },
  tur_Latn: {
    words:
      've bir bu da de için ile çok ne o gibi daha var ben sen biz siz onlar ama olarak olan kadar sonra en her ya mi mı değil şey nasıl neden nerede zaman hiç veya ki benim senin onun bana sana ona tüm bütün önce olduğu olur oldu iyi lütfen teşekkürler yok şimdi diye göre kendi üzerinde',
    letters: 'ğışİ',
  },
  aze_Latn: {
    words:
      'və bir bu da də üçün ilə çox nə o kimi daha var mən sən biz siz onlar amma olaraq olan qədər sonra ən hər ya deyil şey necə niyə harada zaman heç mənim sənin onun mənə sənə ona bütün əvvəl yaxşı zəhmət təşəkkür yox indi görə öz üzərində olub edir lakin isə ki',
    letters: 'əğ',
  },
  ind_Latn: {
    words:
      'yang dan di dari ini itu untuk dengan tidak pada adalah dalam akan saya anda kami kita mereka dia ke bisa ada juga karena sudah lebih atau oleh seperti tetapi tapi harus telah bahwa banyak hanya apa bagaimana mengapa kapan kamu jika agar sangat orang tahun saat setelah masih belum sebuah uang terima kasih menjadi',
    letters: '',
  },
  msa_Latn: {
    words:
      'yang dan di dari ini itu untuk dengan tidak pada ialah adalah dalam akan saya anda kami kita mereka dia ke boleh ada juga kerana sudah lebih atau oleh seperti tetapi mesti telah bahawa banyak hanya apa bagaimana mengapa bila awak jika supaya sangat orang tahun semasa selepas masih belum sebuah wang terima kasih menjadi daripada kepada hendaklah',
    letters: '',
  },
  fil_Latn: {
    words:
      'ang ng sa na at ay mga si ko ka mo siya sila kami tayo kayo ito iyon hindi para kung may mayroon wala ni nang dahil pero o rin din lang pa po opo ano sino saan kailan bakit paano ako ikaw niya nila namin natin kanyang kanilang ating isang lahat salamat magandang gusto naman noong kapag upang',
    letters: '',
  },
  vie_Latn: {
    words:
      'và của là có không được trong cho một người với này những các tôi bạn anh chị em chúng ta họ nó đã đang sẽ rất nhiều cũng như khi nếu nhưng vì để từ đến ra vào lên xuống về gì ai đâu sao thế nào cảm ơn xin làm việc hay hoặc còn phải tại theo',
    letters: 'đơưạảấầẩậắằẵặẹẻẽếềểệỉịọỏốồổộớờởợụủứừửữựỳỵỷỹ',
  },
  cat_Latn: {
    words:
      "el la els les de que i en un una és per amb no ha del al a es més com però seu seva aquest aquesta o si són va ser està també molt quan on qui què jo tu ell ella nosaltres vosaltres ells hi ho li ens us em et fins entre sobre sense des tot tots altres fer pot gràcies hola bé ja perquè pel dels als l'any d'un meu",
    letters: '',
  },
  est_Latn: {
    words:
      'ja on ei see et ta oli kes aga kui nii ning või ka selle tema mina sina meie teie nemad ma sa me te nad mis kus kes olen oled oleme olnud võib saab seda sellest veel juba sest kõik pärast enne palju väga aitäh minu sinu ole miks kuidas siis koos oma üks pole kuid mida',
    letters: 'õ',
  },
  lit_Latn: {
    words:
      'ir yra į iš kad su ne tai kaip bet jis ji jie už apie ar tik dar jau po prie buvo būti nuo iki man mes jūs aš tu mano tavo jo jos jų šis ši šie labai kur kada kodėl kas ką ačiū prašau gali turi visi viskas daug nes arba taip pat metų per bus būtų',
    letters: 'ėįųž',
  },
  lav_Latn: {
    words:
      'un ir no uz ar ka par kas bet tas tā viņš viņa viņi es tu mēs jūs mans tavs pēc pie bija būt līdz vai tikai vēl jau kā kur kad kāpēc paldies lūdzu var visi viss daudz jo šis šī ļoti nav arī savu kuru gadu lai tiek bez tad kuri man',
    letters: 'āēīūļņķģ',
  },
};

export const cyrillic: Readonly<Record<string, Vocabulary>> = {
  rus_Cyrl: {
    words:
      'и в не на я что он с как это по но все она так его за был от меня еще ещё нет о из ему теперь когда даже ну ли если уже или быть была вас мы вы они для есть мне где почему спасибо очень чтобы можно только бы у же к до',
    letters: 'ыэёъ',
  },
  ukr_Cyrl: {
    words:
      'і в не на я що він з як це по але все вона так його за був від мене ще ні о із йому тепер коли навіть ну чи якщо вже або бути була вас ми ви вони для є мені де чому дякую дуже щоб можна тільки у та й до про',
    letters: 'іїєґ',
  },
  bul_Cyrl: {
    words:
      'и в не на аз че той с как това по но все тя така за беше от мен още няма или да се са ще съм си сме сте ние вие те има е къде защо благодаря много само може при до към след без ако когато който която които като ми ли ни ви преди колко можете моля',
    letters: 'ъщ',
  },
  srp_Cyrl: {
    words:
      'и у не на ја да он с као то по али све она тако за био од ме још нема или се су ће сам си смо сте ми ви они има је где зашто хвала врло само може при до према после без ако када који која које што ово',
    letters: 'јљњђћџ',
  },
};

export const arabic: Readonly<Record<string, Vocabulary>> = {
  ara_Arab: {
    words:
      'في من على إلى أن هذا هذه التي الذي ما لا كان عن مع هو هي أو كل بعد قبل بين لم لن قد ثم حتى إذا عند كيف لماذا أين متى شكرا أنا أنت نحن هم ذلك تلك أي غير كما لكن و يكون',
    letters: 'ةىأإؤئ',
  },
  fas_Arab: {
    words:
      'و در به از که این را با است برای آن یک خود تا بر هم نیز شد کرد بود می شود ما من شما او آنها هر یا اگر چه چرا کجا کی چگونه بسیار خیلی متشکرم باید دارد کند های ها همه پس اما ولی نیست',
    letters: 'پچژگکی',
  },
  urd_Arab: {
    words:
      'کے میں کی ہے اور سے کا کو اس کہ ہیں پر نے یہ وہ ایک نہیں ہو تھا بھی جو کیا تو گیا ہم آپ میرا کر لیے ساتھ تک بہت کیوں کہاں کیسے شکریہ ہوتا رہا اپنے ان تھے کوئی مجھے ہوں',
    letters: 'ٹڈڑےہںھ',
  },
};

export const devanagari: Readonly<Record<string, Vocabulary>> = {
  hin_Deva: {
    words:
      'के में की है और से का को इस कि हैं पर ने यह वह एक नहीं हो था भी जो क्या तो गया हम आप मेरा कर लिए साथ तक बहुत क्यों कहाँ कैसे धन्यवाद होता रहा अपने उन थे कोई मुझे हूँ',
    letters: '',
  },
  mar_Deva: {
    words:
      'आहे आणि या व च्या ते तो ती हे हा ही मी तू आम्ही तुम्ही त्या त्याच्या नाही होते होता होती साठी मध्ये पण किंवा जर तर का कसे कुठे कधी धन्यवाद खूप आहेत केले करून येथे असे काय मला तुला सर्व',
    letters: 'ळ',
  },
};
